// Best fit in the order of time, as an allocator that never splits its range would do it: quick for any number of
// items.
#pragma once

#include <span>

#include <quarry/allocator/types.h>
#include "tools/replay/pack.h"

namespace quarry::tools {

// The height of the packing. O(n log n).
Bytes online_best_fit(std::span<const PackItem> items);

}  // namespace quarry::tools
