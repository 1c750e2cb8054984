// The ladder: what is given back, and in what order, when the driver refuses. One loop over a list of rungs per policy.
#pragma once

#include <span>
#include <string_view>

#include <quarry/allocator/counters.h>
#include <quarry/allocator/heap/heap.h>

namespace quarry {

struct Rung {
  std::string_view name;
  // Gives memory back; true when the driver is worth asking again.
  bool (*climb)(Heap& heap, const Placement& placement, Counters& counters);
};

// reference/pytorch_allocator.md section 4, steps 9 and 10. The free lists are not searched again in between: that is
// the recorded order, and without pending frees there is nothing new to find.
std::span<const Rung> pytorch_rungs();

// Asks the driver, and after each rung that gave something back asks again. An answer other than out_of_memory ends the
// climb at once. Heap lock and grow lock held; the heap lock is dropped around driver calls.
DriverResult<Block*> grow_or_reclaim(std::span<const Rung> rungs, Heap& heap, const Placement& placement,
                                     Counters& counters);

}  // namespace quarry
