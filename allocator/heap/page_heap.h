// The paged policy: reserved memory as close to the live bytes as arithmetic allows.
//
// Blocks are exact byte ranges of pages, at 512 B, with no wall between small and large. A request takes one free run,
// or pieces that lie apart under an alias, or new pages: whichever a placement finds cheapest (page_placement.h). The
// arena with the pages is shared by the heaps of a space; what each stream may use of the free memory is in
// StreamViews. Where nothing can be mapped, runs lie inside driver segments and nothing is stitched
// (placement_segments.h).
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <quarry/allocator/heap/heap.h>
#include <quarry/allocator/heap/page_arena.h>
#include <quarry/allocator/heap/page_placement.h>
#include <quarry/allocator/heap/slab.h>
#include <quarry/allocator/heap/stream_views.h>

namespace quarry {

class PageHeap final : public Heap {
 public:
  // `host`, `arena` and `pool` outlive the heap.
  PageHeap(HeapHost& host, PageArena& arena, Pool& pool);
  ~PageHeap() override;
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  Placement plan(Bytes requested, StreamId stream) const override;
  Block* find(const Placement& placement) override;
  Block* find_plain(const Placement& placement) override { return find(placement); }
  Block* find_anywhere(const Placement& placement) override;
  void note_search(const Placement& /*placement*/) override {}
  void insert(Block* block) override;
  Bytes growth(const Placement& placement) override;
  DriverResult<Block*> grow(const Placement& placement) override;
  bool wait_for(const Placement& placement) override;
  bool release_for(const Placement& /*placement*/) override { return false; }
  Bytes collect_garbage(Bytes target) override;
  Bytes release_cached() override;
  DriverStatus release_at(Address /*base*/) override { return {DriverCode::invalid}; }
  DriverStatus unmap_at(Address /*base*/, Bytes /*size*/) override { return {DriverCode::invalid}; }
  void completed(StreamId stream) override { views_.completed(stream); }
  void synchronized(StreamId waiter, StreamId on, std::uint64_t before) override {
    views_.synchronized(waiter, on, before);
  }
  void retired(StreamId stream) override { views_.forget(stream); }
  Bytes largest_free() const override;
  bool empty() const override;
  DriverStatus restore(const SegmentView& /*view*/, std::vector<Block*>& /*live*/) override {
    return {DriverCode::unsupported};
  }
  void walk(Snapshot& into) const override;
  std::string validate() const override;

 private:
  using Run = PageArena::Run;
  struct Piece {
    Units begin = 0;
    Units end = 0;
  };
  // The pieces of a block in the order of its addresses, and the pages they lie in.
  struct Pieces {
    std::vector<Piece> parts;
    PageSequence pages;
  };

  // Answers (page_heap.cpp)
  Units units(Bytes size) const { return size.count / kUnit; }
  Units page_units() const { return arena_.page_units(); }
  PageState state(Units size) const;
  PageChoice choose(FreeSpace& free, const Placement& placement) const;
  Pieces pieces_of(const PageChoice& choice, const FreeSpace& free) const;
  // Number of the first page that is not there, in pieces_of.
  std::size_t first_missing() const { return static_cast<std::size_t>(arena_.end() >> arena_.page_shift()); }
  void take_parts(StreamId stream, const std::vector<Piece>& parts);
  Block* take_home(const Placement& placement, Units at, Extent* extent = nullptr);
  Block* make_stitched(const Placement& placement, Units front, Alias& alias);
  Block* make_block(const Placement& placement, Address address);
  Segment& lane(StreamId stream, SizeClass size_class);
  void link(Block* block);
  void unlink(Block* block);
  std::vector<Piece> pieces_of(const Block& block) const;
  static std::vector<Piece> pieces_of(const Alias& alias, unsigned page_shift);

  // New pages (page_heap_grow.cpp); with the grow lock, they drop the heap lock
  DriverResult<Block*> grow_home(const Placement& placement, const PageChoice& choice);
  DriverResult<Block*> grow_stitched(const Placement& placement, const PageChoice& choice);
  DriverResult<Block*> grow_segment(const Placement& placement);
  DriverResult<Block*> without_stitching(const Placement& placement);
  bool may_get(std::size_t pages) const;
  DriverStatus map(Run run);
  DriverStatus get_pages(std::size_t count, std::vector<Run>& runs);
  void drop_pages(std::vector<Run>& runs);
  void give_back(StreamId stream, Piece range);
  std::vector<Piece> fill_in(Pieces& pieces, bool front, std::size_t missing, const std::vector<Run>& fresh);
  DriverResult<Alias*> alias_for(const PageSequence& pages);
  std::size_t adopt_pages(std::size_t count);
  std::size_t lend_pages(std::size_t count, PageHeap& to);
  std::vector<Piece> complete_runs();
  bool wait_instead(const Placement& placement, const PageChoice& choice);
  bool wait_for_ranges(const Placement& placement, std::size_t grow, std::uint64_t age);
  std::size_t pages_if(const Placement& placement, const std::vector<StreamViews::Free>& ranges, std::size_t count);
  void trim_aliases();

  // Giving back (page_heap_release.cpp)
  std::vector<Run> free_runs(Bytes most) const;
  Bytes release_pages(Bytes most);
  Bytes release_segments(Bytes most);
  std::vector<Alias*> claim_aliases(const std::vector<Run>& runs);

  // Walks (page_heap_walk.cpp)
  struct Placed {
    Units at = 0;
    BlockView view;
  };
  std::vector<Placed> placed() const;

  HeapHost& host_;
  PageArena& arena_;
  Pool& pool_;
  std::unique_ptr<PagePlacement> placement_;
  std::unique_ptr<PagePlacement> small_;  // below a part of a page
  StreamViews views_;
  Slab<Block> slab_;
  Block* blocks_ = nullptr;                                     // live, pending and set aside; in no order
  std::vector<std::array<std::unique_ptr<Segment>, 2>> lanes_;  // by StreamId and SizeClass
  std::size_t pages_ = 0;                                       // owned in the arena
  std::size_t maps_ = 0;                                        // PageState::maps
  Units live_ = 0;
  Units claimed_ = 0;  // of whoever holds the grow lock: neither free nor in a block
  Units most_live_ = 0;
};

}  // namespace quarry
