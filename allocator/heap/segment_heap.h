// The pytorch policy: the answer of the allocator people run today, address for address.
//
// Segments from the driver are cut from the front; free neighbours inside a segment merge; a request takes the best fit
// of its class and stream. Expandable segments are address ranges that get pages as they are needed; their unmapped
// parts are blocks too (segment_heap_expandable.cpp). Rules: reference/pytorch_allocator.md sections 2, 3 and 6,
// conformance/FINDINGS.md.
// Invariant: two free blocks are never neighbours, and every free block is in exactly one index (unless its segment is
// leaving); two unmapped blocks are never neighbours either.
#pragma once

#include <array>
#include <map>
#include <vector>

#include <quarry/allocator/heap/free_index.h>
#include <quarry/allocator/heap/heap.h>
#include <quarry/allocator/heap/slab.h>
#include <quarry/allocator/heap/unmapped_blocks.h>

namespace quarry {

class SegmentHeap final : public Heap {
 public:
  // `host` and `pool` outlive the heap.
  SegmentHeap(HeapHost& host, Pool& pool, TieBreak tie_break) : host_(host), pool_(pool), tie_break_(tie_break) {}

  Placement plan(Bytes requested, StreamId stream) const override;
  Block* find(const Placement& placement) override;
  Block* find_plain(const Placement& placement) override;
  void note_search(const Placement& placement) override;
  void insert(Block* block) override;
  DriverResult<Block*> grow(const Placement& placement) override;
  bool release_for(const Placement& placement) override;
  Bytes collect_garbage(Bytes target) override;
  Bytes release_cached() override;
  DriverStatus release_at(Address base) override;
  DriverStatus unmap_at(Address base, Bytes size) override;
  Bytes largest_free() const override;
  bool empty() const override { return segments_.empty(); }
  DriverStatus restore(const SegmentView& view, std::vector<Block*>& live) override;
  void walk(Snapshot& into) const override;
  std::string validate() const override;

 private:
  using Streams = std::vector<FreeIndex>;  // by StreamId

  FreeIndex& index_of(SizeClass size_class, StreamId stream);
  FreeIndex& index_of(const Segment& segment) { return index_of(segment.size_class, segment.stream); }
  Block* search(const Placement& placement, bool expandable);
  bool vetoed(const Block& block, const Placement& placement) const;

  Block* take(Block* block, Bytes size, bool expandable);
  void put(Block* block);
  Block* put_back(Block* block);
  std::uint32_t age(const Block& block) const;
  Block* cut(Block* block, Bytes size);
  Block* absorb(Block* low, Block* high);
  void count_inactive(const Segment& segment, std::int64_t blocks, std::int64_t bytes);
  Block* adopt(Segment segment);
  DriverResult<Block*> restore_plain(const SegmentView& view);
  void restore_blocks(const SegmentView& view, Block* whole, std::vector<Block*>& live);

  void detach(Segment& segment);
  Bytes release(const std::vector<Segment*>& victims);
  DriverStatus release(Segment& segment);
  Bytes release_plain(SizeClass size_class);

  // Expandable segments (segment_heap_expandable.cpp)
  DriverResult<Block*> grow_expandable(const Placement& placement);
  Block* find_chain(const Placement& placement) const;
  Bytes page_size_of(SizeClass size_class) const;
  DriverResult<Block*> reserve(SizeClass size_class, StreamId stream, Bytes page_size);
  DriverResult<Block*> extend(Block* first, Bytes size);
  DriverStatus map_front(Block* block, Bytes wanted);
  void put_unmapped(Block* block);
  Bytes release_pages(SizeClass size_class);
  Bytes unmap_part(Block* block, Address from, Bytes size);
  void unreserve(Segment& segment);
  void unreserve_unused();
  DriverResult<Block*> restore_expandable(const SegmentView& view);
  DriverResult<Segment*> restore_reservation(const SegmentView& view);
  Block* block_around(Segment& segment, Address at, Bytes size) const;

  // A walk over one segment and what it has seen.
  struct Census {
    std::size_t blocks = 0;
    std::size_t indexed = 0;
    std::size_t unmapped = 0;
  };
  void walk_segment(const Segment& segment, Snapshot& into) const;
  std::string validate_segment(const Segment& segment, Census& census) const;
  std::string validate_block(const Segment& segment, const Block& block) const;
  std::string validate_indexes(std::size_t expected) const;

  HeapHost& host_;
  Pool& pool_;
  TieBreak tie_break_;
  Slab<Block> slab_;
  std::map<Address, Segment> segments_;
  std::array<Streams, 2> indexes_;  // by SizeClass
  UnmappedBlocks unmapped_;
  std::array<std::uint32_t, 2> searches_{};  // by SizeClass; wraps, ages are differences
};

}  // namespace quarry
