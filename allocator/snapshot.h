// What a space holds at one instant, filled by one walk under the heap lock. Plain values for people and for files.
#pragma once

#include <cstdint>
#include <vector>

#include <quarry/allocator/types.h>

namespace quarry {

struct BlockView {
  Address address;
  Bytes size;
  Bytes requested;  // 0 for a free block
  BlockState state = BlockState::free;
  Tag tag{};
};

// A segment; of an expandable one a run of mapped pages, so that several views may have one number.
struct SegmentView {
  SegmentNumber number{};
  Address address;
  Bytes size;
  StreamId stream = kDefaultStream;
  PoolId pool;
  SizeClass size_class = SizeClass::small;
  bool expandable = false;
  std::vector<BlockView> blocks;  // in address order, without gaps
  Bytes page_size{};              // 0 unless expandable
};

struct Snapshot {
  std::uint64_t sequence = 0;          // of the last record before the walk; 0 if none was made
  std::vector<SegmentView> segments;   // in address order
  std::vector<std::uint64_t> streams;  // native handle of each StreamId, by number
};

}  // namespace quarry
