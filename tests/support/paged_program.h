// Programs for the paged policy, as plain data: generated from a seed, run, shrunk, printed. One logical thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/options.h>

namespace quarry::paged {

inline constexpr std::uint32_t kStreams = 4;  // 0 is the default stream
inline constexpr std::uint32_t kPools = 3;    // 0 is the default pool

enum class Act : std::uint8_t {
  allocate,      // `block`, `amount` bytes on `stream` from `pool`; `flag`: contiguous
  read,          // work of `amount` ns on `stream` with `block`
  write,         //
  free,          // `block`
  wait,          // `stream` waits for what `other` has queued, and the allocator is told
  advance,       // virtual time by `amount` ns
  empty_cache,   //
  stream_waits,  // mode with the number `amount`
  limit,         // of reserved bytes, `amount` in MiB; 0 = none
  fraction,      // `amount` percent of the device
  outside,       // `amount` bytes of the device are used by others
  begin_pool,    // requests go to `pool`; `flag`: those of `stream` only
  end_pool,      //
  release_pool,  // one user less
  empty_pool,    //
  no_split,      // one block for each run of pages in `pool`
  retire,        // `stream`, and a new one in its place
};

struct Step {
  Act act = Act::advance;
  std::uint32_t block = 0;
  std::uint32_t stream = 0;
  std::uint32_t other = 0;
  std::uint32_t pool = 0;
  bool flag = false;
  std::uint64_t amount = 0;
};

struct Start {
  PlacementRule placement = PlacementRule::tight;
  StreamWaits waits = StreamWaits::few;
  Bytes page{2ull << 20};
  Bytes capacity = kUnlimited;
  bool mapping = true;
};

struct Program {
  Start start;
  std::vector<Step> operations;
};

// What a program may do beside requests and frees on one stream.
struct Range {
  std::uint32_t streams = 1;
  bool tight_device = false;  // the device is small, limits change
  bool pools = false;
};

// The same seed gives the same program on every machine. `start` gives all but the capacity.
Program generate(std::uint64_t seed, std::size_t steps, const Start& start, const Range& range);

std::string to_text(const Program& program);

}  // namespace quarry::paged
