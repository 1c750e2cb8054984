// What compare mode runs a workload through: our allocator, and the peers. Each serves the same calls, by slot.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>
#include "tools/replay/peers/bin_cache.h"
#include "tools/replay/peers/exact_size_cache.h"
#include "tools/replay/workload.h"

namespace quarry::tools {

// Peaks since the last reset.
struct SubjectPeaks {
  Bytes reserved;
  Bytes requested_active;
};

class AllocatorSubject {
 public:
  AllocatorSubject(Allocator gpu, const Workload& workload, const std::vector<void*>& handles)
      : gpu_(std::move(gpu)), pools_(workload.pools), slots_(workload.slots) {
    for (void* const handle : handles) streams_.push_back(gpu_.stream(handle));
  }

  // Bytes of the block; 0 = refused.
  Bytes allocate(const WorkStep& step) {
    const Request request{.size = step.size, .stream = stream(step.stream), .pool = pools_[step.pool]};
    Result<Allocation> got = gpu_.allocate(request);
    if (!got) [[unlikely]]
      return {};
    Allocation& slot = slots_[step.slot] = *std::move(got);
    return {slot.block_size()};
  }
  void free(std::uint32_t slot) { slots_[slot].reset(); }
  void used_on(std::uint32_t slot, StreamId user) { slots_[slot].used_on(stream(user)); }
  void note_wait(StreamId waiter, StreamId on) { gpu_.note_wait(stream(waiter), stream(on)); }

  Bytes block_size(std::uint32_t slot) const { return {slots_[slot].block_size()}; }
  void reset_peaks() { gpu_.reset_peak(); }
  SubjectPeaks peaks() const {
    const Counters counters = gpu_.counters();
    const auto peak = [&](Metric metric) { return Bytes{static_cast<std::uint64_t>(counters[metric].all.peak)}; };
    return {peak(Metric::reserved_bytes), peak(Metric::requested_bytes)};
  }

 private:
  Stream stream(StreamId number) const { return streams_[static_cast<std::size_t>(number)]; }

  Allocator gpu_;
  std::vector<Stream> streams_;
  const std::vector<PoolId>& pools_;
  std::vector<Allocation> slots_;
};

// A peer has no pending frees and no use for what the program knows about its streams.
template <class Cache>
class PeerSubject {
 public:
  template <class... More>
  PeerSubject(sim::Device& device, const Workload& workload, More&&... more)
      : source_(device),
        cache_(source_, std::forward<More>(more)...),
        slots_(workload.slots),
        active_(workload.peak_requested_active) {}

  Bytes allocate(const WorkStep& step) {
    typename Cache::Block& slot = slots_[step.slot] = cache_.allocate(step.size, step.stream, step.pool);
    return slot.size;
  }
  void free(std::uint32_t slot) { cache_.free(std::exchange(slots_[slot], {})); }
  void used_on(std::uint32_t /*slot*/, StreamId /*user*/) {}
  void note_wait(StreamId /*waiter*/, StreamId /*on*/) {}

  Bytes block_size(std::uint32_t slot) const { return slots_[slot].size; }
  void reset_peaks() { source_.reset_peak(); }
  SubjectPeaks peaks() const { return {source_.peak(), active_}; }

 private:
  SegmentSource source_;
  Cache cache_;
  std::vector<typename Cache::Block> slots_;
  Bytes active_;
};

}  // namespace quarry::tools
