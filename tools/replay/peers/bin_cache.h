// A peer: whole driver segments in bins of growing size, the way of CUB's CachingDeviceAllocator.
//
// A request is rounded up to its bin and takes a cached segment of that bin: of its own stream at once, of another one
// if the event recorded at its free has completed. The bins are the powers of two from 512 B up without a largest one
// and without a bound on cached bytes; CUB's own defaults (growth 8, 512 B to 2 MiB, the rest not cached) round up to 8
// times and would go to the driver for every large request. Nothing is split. If the driver refuses, everything cached
// goes back and it is asked once more.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>

#include "tools/replay/peers/segment_source.h"

namespace quarry::tools {

// One thread.
class BinCache {
 public:
  struct Block {
    Address address;  // 0 = refused, or of a request of no bytes
    Bytes size;
    StreamId stream = kDefaultStream;
    std::uint16_t pool = 0;
    std::uint8_t bin = 0;
    bool ordered = false;  // the event stands for the last free
    EventHandle event{};
  };

  // `handles` are the native streams by number and outlive the cache.
  BinCache(SegmentSource& source, const std::vector<void*>& handles) : source_(source), handles_(handles) {}
  ~BinCache() { release_cached(); }
  BinCache(const BinCache&) = delete;
  BinCache& operator=(const BinCache&) = delete;

  Block allocate(Bytes size, StreamId stream, std::uint16_t pool);
  void free(Block block);
  void release_cached();

 private:
  using Bin = std::map<StreamId, std::deque<Block>>;  // in the order of their frees
  static constexpr std::uint8_t kSmallest = 9;        // 512 B

  bool take_cached(Bin& bin, StreamId stream, Block& block);
  bool fetch(Block& block);

  SegmentSource& source_;
  const std::vector<void*>& handles_;
  std::map<std::uint16_t, std::array<Bin, 64>> pools_;
};

}  // namespace quarry::tools
