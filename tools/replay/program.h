// A trace made ready to run: one flat list of operations, blocks as dense slot numbers, nothing left to look up.
#pragma once

#include <cstdint>
#include <vector>

#include <quarry/allocator/options.h>
#include <quarry/allocator/types.h>
#include <quarry/stats/trace.h>
#include "tools/replay/rewind.h"

namespace quarry::tools {

enum class OpKind : std::uint8_t {
  allocate,
  free,             // the caller frees and the block is free at once
  request_free,     // the caller frees; other streams still use the block
  complete_free,    // ... and now no longer do
  release_segment,  // the recording gave a segment back
  unmap,            // the recording gave a run of pages back
};

struct Op {
  OpKind kind = OpKind::allocate;
  StreamId stream = kDefaultStream;
  std::uint32_t slot = 0;   // of the block; slots are used again
  std::uint32_t entry = 0;  // index in the trace
  Bytes size;               // requested bytes of the block, or the size of the segment or run
  PoolId pool;
  Address address;  // as recorded
};

struct GrownSegment {
  Address address;
  Bytes size;
  StreamId stream = kDefaultStream;
};

struct Program {
  std::vector<Op> ops;
  std::vector<GrownSegment> grown;         // segment_alloc entries, in order
  std::vector<GrownSegment> reservations;  // where an expandable segment begins, in order; size = its first run
  Bytes reservation_room = kUnlimited;     // no reservation of the recording was larger
  std::vector<std::uint32_t> start_slots;  // of the blocks of the rewound state, in its order
  std::uint32_t slots = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;  // by the caller
  std::uint64_t ooms = 0;
  std::uint64_t foreign_uses = 0;  // blocks that other streams held longer than the caller
  std::uint64_t entries = 0;
  Bytes start_requested;  // live at the start
  Bytes peak_requested;   // as the caller frees; no policy changes it
};

// `start` is the consistent rewound state of that device.
Program make_program(const stats::DeviceTrace& device, const Rewound& start);

}  // namespace quarry::tools
