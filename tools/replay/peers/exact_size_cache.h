// A peer: a cache of whole driver segments by exact size, the simplest that programs write for themselves.
//
// Sizes are rounded to 512 B. A request takes the segment of its size, stream and pool that was freed last, or asks the
// driver; nothing is ever split, merged or shown to another stream. If the driver refuses, everything cached goes back
// and it is asked once more.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tools/replay/peers/segment_source.h"

namespace quarry::tools {

// One thread.
class ExactSizeCache {
 public:
  struct Bin;
  struct Block {
    Address address;  // 0 = refused, or of a request of no bytes
    Bytes size;
    Bin* bin = nullptr;
  };

  explicit ExactSizeCache(SegmentSource& source) : source_(source) {}

  Block allocate(Bytes size, StreamId stream, std::uint16_t pool);
  void free(const Block& block);
  void release_cached();

  struct Bin {
    Bytes size;
    std::vector<Address> cached;
  };

 private:
  struct Key {
    Bytes size;
    StreamId stream;
    std::uint16_t pool;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t owner = std::uint64_t{static_cast<std::uint32_t>(key.stream)} << 16 | key.pool;
      return static_cast<std::size_t>((key.size.count + owner * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull >> 16);
    }
  };

  SegmentSource& source_;
  std::unordered_map<Key, Bin, Hash> bins_;
};

}  // namespace quarry::tools
