// Keeps the records of one allocator in memory and makes a trace of them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/stats/trace.h>

namespace quarry::stats {

// Attach with Allocator::attach; the allocator calls on_record under its heap lock. Thread-safe.
// When the process heap is exhausted the records so far are dropped: a trace may begin late, but it has no holes.
class Recorder final : public Observer {
 public:
  void on_record(const Record& record) noexcept override;

  // Records so far and the state of `allocator` now, as a trace of device 0. Records made after the state was read are
  // left out, so the two agree while other threads go on allocating.
  Trace trace(const Allocator& allocator) const;
  std::size_t size() const;

 private:
  struct Timed {
    Record record;
    std::int64_t time_us;
  };
  mutable std::mutex mutex_;  // taken under the heap lock, so nothing here may call the allocator while holding it
  std::vector<Timed> records_;
};

}  // namespace quarry::stats
