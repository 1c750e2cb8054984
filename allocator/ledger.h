// The ledger: one instant of a space in numbers that add up (DESIGN.md section 7). Bytes unless said otherwise.
//
//   requested <= allocated <= active <= reserved
//   active = allocated + pending      reserved = active + releasable + stranded
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/types.h>

namespace quarry {

// Bytes that wait for work on one stream; a block that waits for several counts under the lowest number.
struct PendingOn {
  StreamId stream = kDefaultStream;
  Bytes bytes;
};

// What belongs to one stream. A stream's cached bytes serve no other stream yet, the shared row's serve all.
struct StreamRow {
  StreamId stream = kDefaultStream;
  bool shared = false;  // free bytes of the paged policy on which no work is left; `stream` means nothing
  Bytes active;         // live and pending blocks
  Bytes cached;         // free blocks
};

// A block that alone keeps its segment, or pages of the paged policy, from going back.
struct Stranding {
  Address block;
  Bytes size;
  Tag tag{};
  bool pending = false;
  Bytes strands;  // free bytes of its segment or of those pages
};

inline constexpr std::size_t kMostStranding = 5;

struct Ledger {
  Bytes requested;              // live requests, as the caller asked
  Bytes allocated;              // live blocks
  Bytes pending;                // freed by the caller, still used on another stream
  Bytes reserved;               // got from the driver
  Bytes releasable;             // free bytes that empty_cache would give back without waiting
  Bytes releasable_after_wait;  // the same once every pending block is free
  Bytes stranded;               // free bytes that share their segment with something live or pending
  Bytes largest_free;

  Bytes peak_requested;
  Bytes peak_allocated;
  Bytes peak_reserved;

  std::uint64_t segments = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t free_blocks = 0;
  std::uint64_t retries = 0;  // requests that found the device full and went on to reclaim

  Bytes device_free;  // as the driver says, both 0 when it does not answer
  Bytes device_total;
  Bytes limit;  // bound on reserved from options and fraction; kUnlimited if there is none

  bool contiguous = false;  // paged policy, but the driver cannot map pages: blocks are runs inside segments

  std::vector<StreamRow> streams;            // by number; adds up to active() and cached()
  std::vector<PendingOn> pending_by_stream;  // adds up to `pending`
  std::vector<Stranding> stranding;          // lone blocks that strand the most, largest first, at most kMostStranding
  std::string settings;                      // options that are not at their default, as an option string

  Bytes active() const { return allocated + pending; }
  Bytes cached() const { return reserved - active(); }
  Bytes free_bytes() const { return releasable + stranded; }
  Bytes rounding() const { return allocated - requested; }
  // Bytes of the device that this space does not hold: contexts, other processes, other allocators.
  Bytes outside() const {
    const Bytes known = device_free + reserved;
    return known < device_total ? device_total - known : Bytes{};
  }
  // F over the space's life so far: peak reserved / peak requested; 0 before the first request.
  double fragmentation() const {
    return peak_requested.count ? static_cast<double>(peak_reserved.count) / static_cast<double>(peak_requested.count)
                                : 0.0;
  }
  // 1 - largest free / free bytes, now; 0 when nothing is free.
  double free_fragmentation() const {
    const auto free = static_cast<double>(free_bytes().count);
    return free > 0 ? 1.0 - static_cast<double>(largest_free.count) / free : 0.0;
  }
};

}  // namespace quarry
