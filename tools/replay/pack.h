// Offline packing: a place for every block of a workload, known in advance, in one contiguous range.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/types.h>
#include "tools/replay/workload.h"

namespace quarry::tools {

// Lives in [begin, end) of a time without units.
struct PackItem {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  Bytes size;
};

struct Packing {
  Bytes height;
  Bytes bound;         // the largest sum of sizes that live at once: no packing is lower
  std::string method;  // "best fit by size", or "nothing to choose" where all items live all the time
  unsigned tried = 0;  // combinations of order and fit that were begun
};

// The blocks of start and window with sizes rounded to 512 B, from the request to the last use: until complete_free, or
// to the end. Times count rounds of requests between frees. Streams and pools are ignored: any block may come after any
// other at one place.
std::vector<PackItem> pack_items(const Workload& workload);

// The lowest of: best fit in the order of time; then first fit and best fit over the orders size, area, life time, log
// life time then size, log size then life time (all descending), begin, and end (the last first). Stops when one meets
// the bound, or when the budget is used up; the first is run whatever the budget.
Packing pack(std::vector<PackItem> items, std::chrono::milliseconds budget);

}  // namespace quarry::tools
