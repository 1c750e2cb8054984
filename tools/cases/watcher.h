// Sees what one allocator does and says it in the words of a case: segment numbers and offsets instead of addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tools/cases/case.h"

#include <quarry/allocator/observer.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// Streams of a case and of the allocator.
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

// Gives every segment and every reservation an address space of its own, in order of creation, so that an address says
// which one it lies in, even after that one is gone.
class NumberedAddresses final : public sim::AddressScript {
 public:
  Address next(Bytes) override { return {++created_ << kShift}; }
  Address next_reservation(Bytes size) override { return next(size); }

  static Place place(Address address) {
    return {(address.value >> kShift) - 1, address.value & ((std::uint64_t{1} << kShift) - 1), std::nullopt};
  }

 private:
  static constexpr int kShift = 44;  // 16 TiB each, half a million of them

  std::uint64_t created_ = 0;
};

// One thread.
class Watcher final : public Observer {
 public:
  explicit Watcher(const StreamNames& streams) : streams_(streams) {}

  void on_record(const Record& record) noexcept override;
  std::vector<RecordedEvent> take_events();

 private:
  const StreamNames& streams_;
  std::vector<RecordedEvent> events_;
};

}  // namespace quarry::tools
