// The rules that hold for every policy and every program (DESIGN.md sections 6 and 7), recomputed from a walk over what
// the allocator shows of itself. Each function returns the first breach as text, or an empty string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::oracle {

// A block as its owner knows it.
struct LiveBlock {
  Address address;
  Bytes size;
  Bytes requested;
};

// The live blocks of a walk by their address, pieces of one block put together.
std::vector<LiveBlock> live_blocks(const Snapshot& snapshot);

// Blocks tile their segments without gap or overlap, segments do not overlap, sizes and addresses are multiples of
// 512, neighbours are not both free (in the paged policy they may be: one view per stream and free), the pieces of a
// block agree with each other, and the live blocks are exactly `live`, each at least as big as requested.
std::string broken_layout(const Snapshot& snapshot, std::span<const LiveBlock> live);

// Every `current` equals the sum over the walk, every total the sum of its rows, no peak is below its current.
std::string broken_counters(const Counters& counters, const Snapshot& snapshot);

// allocated - freed has grown since `baseline` (all zero, or taken right after reset_accumulated) as current has.
std::string broken_flow(const Counters& counters, const Counters& baseline);

// requested <= allocated <= active <= reserved, reserved = active + releasable + stranded, and each figure equals the
// walk's and the counters'.
std::string broken_ledger(const Ledger& ledger, const Counters& counters, const Snapshot& snapshot);

// All of the above at a quiet point, validate(), and that the device holds what is reserved. `device` may be null.
std::string broken_identity(const Allocator& allocator, const sim::Device* device, std::span<const LiveBlock> live,
                            const Counters& baseline);

}  // namespace quarry::oracle
