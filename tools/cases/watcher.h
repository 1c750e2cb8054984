// Sees what one allocator does and says it in the words of a case: segment numbers and offsets instead of addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tools/cases/case.h"

#include <quarry/allocator/observer.h>

namespace quarry::tools {

// Streams of a case and of the allocator, both ways.
class StreamNames {
 public:
  void add(CaseStream name, StreamId id) { names_[id] = name; }
  CaseStream name(StreamId id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? 0 : found->second;
  }

 private:
  std::map<StreamId, CaseStream> names_;
};

// One thread.
class Watcher final : public Observer {
 public:
  explicit Watcher(const StreamNames& streams) : streams_(streams) {}

  void on_record(const Record& record) noexcept override;

  // Segment and offset of an address inside a segment held now.
  std::optional<Place> place(Address address) const;
  std::optional<Bytes> segment_size(Address address) const;
  std::vector<RecordedEvent> take_events();

 private:
  struct Segment {
    std::uint64_t number;
    Bytes size;
  };
  const std::pair<const Address, Segment>* find(Address address) const;

  const StreamNames& streams_;
  std::map<Address, Segment> segments_;
  std::uint64_t next_number_ = 0;
  std::vector<RecordedEvent> events_;
};

}  // namespace quarry::tools
