// Records of segments and blocks. They live on the host; the memory they describe is never touched.
#pragma once

#include <cstdint>

#include <quarry/allocator/types.h>

namespace quarry {

struct Block;

// One range got from the driver. All its blocks belong to one stream, one class and one heap.
struct Segment {
  SegmentNumber number{};
  Address address;
  Bytes size;
  StreamId stream = kDefaultStream;
  SizeClass size_class = SizeClass::small;
  bool leaving = false;    // taken out of the index, on its way back to the driver
  Block* first = nullptr;  // lowest block; the rest follow by Block::next
};

// One range, live or free. Owner: the heap's slab. Guard: the heap lock of the space.
// 64 bytes, so that a block costs one cache line: what only a free or only a live block needs shares its place.
struct Block {
  Block() : left(nullptr), right(nullptr) {}

  Address address;
  Bytes size;
  Block* previous = nullptr;  // neighbours inside the segment, by address
  Block* next = nullptr;
  Segment* segment = nullptr;
  union {
    Block* left;      // free: children in the free index
    Bytes requested;  // live
  };
  union {
    Block* right;
    void* uses;  // live: other streams that used it (none are known yet)
  };
  Tag tag{};  // live
  BlockState state = BlockState::free;

  bool is_free() const { return state == BlockState::free; }
  // Shares its segment with another block.
  bool is_split() const { return previous != nullptr || next != nullptr; }
};

static_assert(sizeof(Block) <= 64);

}  // namespace quarry
