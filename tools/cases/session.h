// One case's allocator over its own simulated device, driven operation by operation.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/cases/case.h"
#include "tools/cases/case_options.h"
#include "tools/cases/watcher.h"
#include "tools/sim_backend.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// What one operation did, in the words of an Answer.
struct Seen {
  bool null = false;
  bool skip = false;
  std::optional<Error> error;
  std::optional<Place> at;
  std::optional<double> value;
  std::vector<std::string> calls;
  std::vector<RecordedEvent> events;
};

class Session {
 public:
  Session(const Case& one, const MakeSimBackend& make_backend);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Reads the configuration on top of `base` and opens the allocator. Everything else needs this to have succeeded.
  Status open(const Case& one, const Options& base = *case_options());

  // ErrorCode::unsupported for an operation that this build has no engine for, invalid for a name that is in use; such
  // an operation has no effect. The answer of the allocator itself, errors too, is in Seen.
  Result<Seen> apply(const Operation& operation);

  RecordedLayout layout() const;  // by segment number, then offset
  StatTable stats() const;
  std::array<std::int64_t, 5> sums() const;  // the row `s`
  Ledger ledger() const { return allocator_->ledger(); }
  std::string validate() const { return allocator_->validate(); }
  const Allocator& allocator() const { return *allocator_; }
  Bytes capacity() const { return capacity_; }
  // Segments and the blocks in them, but for free blocks that fill a segment: what a look at the whole heap costs.
  std::uint64_t heap_size() const;
  // How the last alloc or allocate ended; empty before the first.
  const std::optional<bool>& served() const { return served_; }

 private:
  // A block under one or more names. `pointer` is null for a request of no bytes.
  struct Block {
    void* pointer = nullptr;
    Allocation owned;  // set instead of a plain pointer by the tensor path
  };
  struct Apply;  // one overload per operation

  void give_back(Block& block);
  void free_name(const std::string& id, Seen& seen);
  Place place_of_new(Address address, std::int64_t allocated_before) const;
  std::int64_t allocated_bytes() const;
  void make_current(CaseStream stream);

  Bytes capacity_;
  NumberedAddresses addresses_;
  SimBackend backend_;
  std::shared_ptr<sim::Device> device_ = backend_.device;
  StreamNames stream_names_;
  Watcher watcher_;
  std::map<CaseStream, Stream> streams_;
  CaseStream current_ = 0;  // of the thread: captures and the tensor path ask for it
  std::set<PoolId> pools_;  // that the case has named
  std::optional<Allocator> allocator_;
  std::map<std::string, std::shared_ptr<Block>, std::less<>> names_;
  std::optional<bool> served_;
};

}  // namespace quarry::tools
