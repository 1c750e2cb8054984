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

  // Paged policy only: a view is one piece of a block that may lie in several, and stands where its page is.
  StreamId stream = kDefaultStream;         // owner; of a free range, who used it last
  SizeClass size_class = SizeClass::small;  // of the block
  Address block{};                          // where the caller sees the block
  bool head = true;                         // the block's first piece; `requested` is there
  bool shared = false;                      // free, and every stream may use it

  // What the caller knows the block by.
  Address name() const { return block != Address{} ? block : address; }
};

// A segment; of an expandable one and of the paged policy a run of mapped pages, so that several views may have one
// number. A paged one has blocks of many streams.
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
  bool paged = false;
};

struct Snapshot {
  std::uint64_t sequence = 0;          // of the last record before the walk; 0 if none was made
  std::vector<SegmentView> segments;   // in address order
  std::vector<std::uint64_t> streams;  // native handle of each StreamId, by number
};

}  // namespace quarry
