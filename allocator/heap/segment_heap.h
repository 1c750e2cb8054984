// The pytorch policy: the answer of the allocator people run today, address for address.
//
// Segments from the driver are cut from the front; free neighbours inside a segment merge; a request takes the best fit
// of its class and stream. Rules: reference/pytorch_allocator.md sections 2, 3 and 6, conformance/FINDINGS.md.
// Invariant: two free blocks are never neighbours, and every free block is in exactly one index (unless its segment is
// leaving).
#pragma once

#include <array>
#include <map>
#include <vector>

#include <quarry/allocator/heap/block_slab.h>
#include <quarry/allocator/heap/free_index.h>
#include <quarry/allocator/heap/heap.h>

namespace quarry {

class SegmentHeap final : public Heap {
 public:
  // `host` outlives the heap.
  SegmentHeap(HeapHost& host, TieBreak tie_break) : host_(host), tie_break_(tie_break) {}

  Placement plan(Bytes requested, StreamId stream) const override;
  Block* find(const Placement& placement) override;
  void insert(Block* block) override;
  DriverResult<Block*> grow(const Placement& placement) override;
  bool release_for(const Placement& placement) override;
  Bytes release_cached() override;
  DriverStatus release_at(Address base) override;
  Bytes largest_free() const override;
  DriverStatus restore(const SegmentView& view, std::vector<Block*>& live) override;
  void walk(Snapshot& into) const override;
  std::string validate() const override;

 private:
  using Streams = std::vector<FreeIndex>;  // by StreamId

  FreeIndex& index_of(SizeClass size_class, StreamId stream);
  FreeIndex& index_of(const Segment& segment) { return index_of(segment.size_class, segment.stream); }
  bool vetoed(const Block& block, const Placement& placement) const;

  Block* take(Block* block, Bytes size);
  Block* cut(Block* block, Bytes size);
  Block* absorb(Block* low, Block* high);
  void count_inactive(SizeClass size_class, std::int64_t blocks, std::int64_t bytes);
  Block* adopt(const Segment& segment);
  void restore_blocks(const SegmentView& view, Block* whole, std::vector<Block*>& live);

  void detach(Segment& segment);
  Bytes release(const std::vector<Segment*>& victims);
  DriverStatus release(Segment& segment);

  std::string validate_segment(const Segment& segment, std::size_t& blocks, std::size_t& indexed) const;
  std::string validate_indexes(std::size_t expected) const;

  HeapHost& host_;
  TieBreak tie_break_;
  BlockSlab slab_;
  std::map<Address, Segment> segments_;
  std::array<Streams, 2> indexes_;  // by SizeClass
};

}  // namespace quarry
