#include <quarry/allocator/reclaim/ladder.h>

#include <array>

namespace quarry {
namespace {

bool release_oversize(Heap& heap, const Placement& placement, Counters&) { return heap.release_for(placement); }

// The last rung asks again whatever it released (findings 15: a limit refuses without the driver and still counts
// here).
bool release_all_cached(Heap& heap, const Placement&, Counters& counters) {
  ++counters[Tally::num_sync_all_streams];
  heap.release_cached();
  ++counters[Tally::num_alloc_retries];
  return true;
}

constexpr std::array<Rung, 2> kPytorchRungs = {{
    {"release oversize blocks of this stream", release_oversize},
    {"release all cached segments", release_all_cached},
}};

}  // namespace

std::span<const Rung> pytorch_rungs() { return kPytorchRungs; }

DriverResult<Block*> grow_or_reclaim(std::span<const Rung> rungs, Heap& heap, const Placement& placement,
                                     Counters& counters) {
  DriverResult<Block*> grown = heap.grow(placement);
  for (const Rung& rung : rungs) {
    if (grown.status.code != DriverCode::out_of_memory) break;
    if (rung.climb(heap, placement, counters)) grown = heap.grow(placement);
  }
  return grown;
}

}  // namespace quarry
