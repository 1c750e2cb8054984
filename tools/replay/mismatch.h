// Why the first request that got another address than recorded got it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <quarry/allocator/snapshot.h>

#include "tools/replay/program.h"

namespace quarry::tools {

// Where a request was or would have been served: a block of our heap just before it, or a segment got for it.
struct Site {
  Address segment;
  Bytes segment_size;
  Address block;
  Bytes block_size;  // of a fresh segment: all of it
  BlockState state = BlockState::free;
  bool fresh = false;  // the segment was got for this request
};

struct Mismatch {
  std::uint64_t entry = 0;   // index in the trace
  Bytes size;                // requested
  std::uint64_t stream = 0;  // native handle
  Address recorded;
  Address chosen;                     // 0 = our allocator refused the request
  std::optional<Site> recorded_site;  // empty: neither our heap nor the recording has a segment there
  std::optional<Site> chosen_site;    // empty: refused
  std::string text;                   // all of it in words, several lines
};

// Our heap just before and just after the request.
struct HeapStates {
  Snapshot before;
  Snapshot after;
};

// `chosen` is what our allocator gave for `op`; `grown` are the recorded segments.
Mismatch explain_mismatch(const Op& op, std::uint64_t stream_handle, Address chosen, const HeapStates& heap,
                          std::span<const GrownSegment> grown);

}  // namespace quarry::tools
