// Records of segments and blocks. They live on the host; the memory they describe is never touched.
#pragma once

#include <cstdint>
#include <memory>

#include <quarry/allocator/heap/segment_pages.h>
#include <quarry/allocator/types.h>

namespace quarry {

struct Block;
struct Pool;

// One range got from the driver. All its blocks belong to one stream, one class and one pool.
struct Segment {
  SegmentNumber number{};
  Address address;
  Bytes size;  // of the addresses, in an expandable segment too
  StreamId stream = kDefaultStream;
  SizeClass size_class = SizeClass::small;
  bool leaving = false;  // taken out of the index, on its way back to the driver
  bool waits = true;     // for its stream before pages are unmapped
  bool lane = false;     // no range: what the paged policy's blocks of one stream and class have in common
  Pool* pool = nullptr;
  Block* first = nullptr;               // lowest block; the rest follow by Block::next
  std::unique_ptr<SegmentPages> pages;  // null in a plain segment

  bool expandable() const { return pages != nullptr; }
};

// Another stream that used a live block, in order of first use.
struct StreamUse {
  StreamUse* next = nullptr;
  StreamId stream = kDefaultStream;
  bool captured = false;  // noted while a capture was open
};

// Why a free block is in no index.
enum class Aside : std::uint8_t {
  no,        // it is in one
  unmapped,  // a part of an expandable segment without pages
  cached,    // in the front cache of its pool (paged policy)
  claimed,   // of whoever holds the grow lock, while pages are mapped or unmapped beside it or in it
};

// One range, live or free. Owner: the heap's slab. Guard: the heap lock of the space.
// 64 bytes, so that a block costs one cache line: what only a free or only a live block needs shares its place.
struct Block {
  Block() : left(nullptr), right(nullptr), tag{} {}

  Address address;
  Bytes size;
  Block* previous = nullptr;  // neighbours inside the segment, by address
  Block* next = nullptr;
  Segment* segment = nullptr;
  union {
    Block* left;      // free: children in the free index
    Bytes requested;  // live or pending
  };
  union {
    Block* right;
    StreamUse* uses;  // live or pending
  };
  union {
    Tag tag;                 // live or pending
    std::uint32_t birthday;  // free: searches of its class before it became free (garbage collection)
  };
  std::uint16_t pending_events = 0;
  BlockState state = BlockState::free;
  Aside aside = Aside::no;

  bool is_free() const { return state == BlockState::free && aside == Aside::no; }
  bool is_unmapped() const { return aside == Aside::unmapped; }
  // Shares its segment with another block.
  bool is_split() const { return previous != nullptr || next != nullptr; }
};

static_assert(sizeof(Block) <= 64);

}  // namespace quarry
