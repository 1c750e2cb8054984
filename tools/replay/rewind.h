// The state of a device before the first entry of its trace.
//
// A recording has often lost its beginning, so the start is derived: from the segments at the end, back over the trace
// (reference/pytorch_allocator.md section 9).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <quarry/allocator/options.h>
#include <quarry/allocator/snapshot.h>
#include <quarry/stats/trace.h>

namespace quarry::tools {

struct Rewound {
  // Segments in address order and numbered so, with their live and pending blocks; gaps are free. `streams` has every
  // stream of the trace, by number.
  Snapshot state;
  std::uint64_t misses = 0;         // entries that contradict what came after them
  std::uint64_t guessed_pools = 0;  // alloc entries of which neither the entry nor its segment names a pool
  bool expandable = false;          // mapped runs are there at the start
  std::unordered_map<std::uint32_t, PoolId> pools;  // of the alloc entries that are not in the default pool
  std::vector<std::string> problems;                // the first few contradictions, one line each

  bool consistent() const { return misses == 0 && problems.empty(); }
};

// `recorded` are the options of the recording: blocks known only by the size of their request are rounded by them.
// `device` is a valid index. Never fails; what does not add up is counted and told.
Rewound rewind(const stats::Trace& trace, std::size_t device, const Options& recorded);

// What is wrong with the segments as they stand in the file: block lists that do not fill their segment, overlaps,
// addresses that leave 64 bits. At most a few lines; empty if they add up.
std::vector<std::string> segment_problems(const stats::DeviceTrace& device);

}  // namespace quarry::tools
