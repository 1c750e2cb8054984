#include <quarry/allocator/heap/page_heap.h>

#include <algorithm>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/page_rules.h>
#include <quarry/allocator/heap/placement_segments.h>
#include <quarry/allocator/pool.h>

namespace quarry {

PageHeap::PageHeap(HeapHost& host, PageArena& arena, Pool& pool)
    : host_(host),
      arena_(arena),
      pool_(pool),
      placement_(make_placement(host.heap_options().placement, arena.page_shift())),
      small_(make_placement(PlacementRule::fast, arena.page_shift())),
      views_(host.clock(), arena.page_shift()) {
  arena_.heaps().push_back(this);
}

PageHeap::~PageHeap() { std::erase(arena_.heaps(), this); }

Placement PageHeap::plan(Bytes requested, StreamId stream) const {
  Placement placement;
  placement.size = paged_size(requested);
  placement.whole = pool_.no_split;
  if (placement.whole) placement.size = round_up(placement.size, arena_.page_size());
  placement.segment_size = round_up(placement.size, arena_.page_size());
  placement.size_class = paged_class(placement.size);
  placement.stream = stream;
  return placement;
}

PageState PageHeap::state(Units size) const {
  PageState state;
  state.pages = pages_;
  state.most_live = std::max(most_live_, live_ + size);
  state.maps = maps_;
  state.gaps = arena_.maps() ? &arena_.gaps() : nullptr;
  return state;
}

PageChoice PageHeap::choose(FreeSpace& free, const Placement& placement) const {
  const Units size = units(placement.size);
  if (!arena_.maps()) return choose_in_segments(free, arena_, size, placement.whole, most_segment(placement.size));
  if (placement.whole) return choose_run(free, size, state(size), arena_.page_shift());
  const PagePlacement& rule = size < page_units() / kScoredPart ? *small_ : *placement_;
  return rule.choose(free, size, state(size));
}

// Only what needs no driver: a run that is free, or pieces whose alias is still mapped.
Block* PageHeap::find(const Placement& placement) {
  FreeSpace& free = views_.view(placement.stream);
  views_.count_request();
  const PageChoice choice = choose(free, placement);
  if (choice.kind == PageChoice::Kind::none || choice.grow != 0) return nullptr;
  if (choice.kind == PageChoice::Kind::home) return take_home(placement, choice.at, choice.extent);
  const Pieces pieces = pieces_of(choice, free);
  Alias* alias = arena_.aliases().wake(pieces.pages);
  if (alias == nullptr) return nullptr;
  take_parts(placement.stream, pieces.parts);
  return make_stitched(placement, choice.front, *alias);
}

Block* PageHeap::find_anywhere(const Placement& placement) {
  if (arena_.maps()) return nullptr;
  FreeSpace& free = views_.view(placement.stream);
  const PageChoice choice = choose_in_segments(free, arena_, units(placement.size), placement.whole, kUnlimited);
  return choice.kind == PageChoice::Kind::none ? nullptr : take_home(placement, choice.at, choice.extent);
}

// Whole pages in address order. Where they run out, the numbers from the end of the arena on stand for pages still to
// be got.
PageHeap::Pieces PageHeap::pieces_of(const PageChoice& choice, const FreeSpace& free) const {
  Pieces pieces;
  const unsigned shift = arena_.page_shift();
  std::size_t next = 0;
  const auto whole_page = [&] {
    const std::size_t page = next < first_missing() ? free.whole_page_from(next) : BitTree::kNone;
    const std::size_t taken = page != BitTree::kNone ? page : std::max(next, first_missing());
    next = taken + 1;
    return taken;
  };
  const auto piece = [&](Units begin, Units end) {
    pieces.parts.push_back({begin, end});
    pieces.pages.push_back(static_cast<PageNumber>(begin >> shift));
  };
  if (choice.front != 0) {
    const Units border =
        choice.front_hole != nullptr ? free.ceil_page(choice.front_hole->begin) : (Units{whole_page()} + 1) << shift;
    piece(border - choice.front, border);
  }
  for (std::size_t i = 0; i < choice.whole; ++i) {
    const Units begin = Units{whole_page()} << shift;
    piece(begin, begin + page_units());
  }
  if (choice.back != 0) {
    const Units border =
        choice.back_hole != nullptr ? free.floor_page(choice.back_hole->end) : Units{whole_page()} << shift;
    piece(border, border + choice.back);
  }
  return pieces;
}

Block* PageHeap::take_home(const Placement& placement, Units at, Extent* extent) {
  views_.take(placement.stream, at, at + units(placement.size), extent);
  return make_block(placement, arena_.address_of(at));
}

void PageHeap::take_parts(StreamId stream, const std::vector<Piece>& parts) {
  for (const Piece& part : parts) views_.take(stream, part.begin, part.end);
}

// The alias is live, maps the pages of the block, and its bytes are taken.
Block* PageHeap::make_stitched(const Placement& placement, Units front, Alias& alias) {
  alias.begin = front == 0 ? 0 : page_units() - front;
  alias.size = units(placement.size);
  alias.pool = &pool_;
  alias.stream = placement.stream;
  return make_block(placement, alias.base + Bytes{alias.begin * kUnit});
}

Block* PageHeap::make_block(const Placement& placement, Address address) {
  Block* block = slab_.make();
  block->address = address;
  block->size = placement.size;
  block->segment = &lane(placement.stream, placement.size_class);
  block->state = BlockState::live;
  link(block);
  live_ += units(placement.size);
  most_live_ = std::max(most_live_, live_);
  return block;
}

// What the blocks of one stream and class have in common; no range of its own.
Segment& PageHeap::lane(StreamId stream, SizeClass size_class) {
  const auto index = static_cast<std::size_t>(stream);
  if (lanes_.size() <= index) lanes_.resize(index + 1);
  std::unique_ptr<Segment>& found = lanes_[index][static_cast<std::size_t>(size_class)];
  if (found == nullptr) {
    found = std::make_unique<Segment>();
    found->stream = stream;
    found->size_class = size_class;
    found->pool = &pool_;
    found->lane = true;
  }
  return *found;
}

void PageHeap::link(Block* block) {
  block->previous = nullptr;
  block->next = blocks_;
  if (blocks_ != nullptr) blocks_->previous = block;
  blocks_ = block;
}

void PageHeap::unlink(Block* block) {
  if (block->next != nullptr) block->next->previous = block->previous;
  (block->previous != nullptr ? block->previous->next : blocks_) = block->next;
}

void PageHeap::insert(Block* block) {
  const StreamId stream = block->segment->stream;
  const std::uint64_t number = host_.clock().note_free(stream, block->size);
  const Units size = units(block->size);
  if (const std::optional<Units> at = arena_.place_of(block->address)) {
    views_.add(*at, *at + size, stream, number);
  } else {
    Alias* alias = arena_.aliases().containing(block->address);
    QUARRY_CHECK(alias != nullptr, "a block lies neither in the arena nor under an alias");
    for (const Piece& part : pieces_of(*alias, arena_.page_shift())) views_.add(part.begin, part.end, stream, number);
    alias->number = number;
    arena_.aliases().put_to_sleep(*alias);
  }
  live_ -= size;
  unlink(block);
  slab_.drop(block);
  if (views_.several() && host_.clock().due(stream)) host_.record_frees(stream);
}

std::vector<PageHeap::Piece> PageHeap::pieces_of(const Alias& alias, unsigned page_shift) {
  std::vector<Piece> pieces;
  const Units page = Units{1} << page_shift;
  for (Units at = alias.begin; at < alias.begin + alias.size;) {
    const Units end = std::min((at >> page_shift << page_shift) + page, alias.begin + alias.size);
    const Units home = Units{alias.pages[at >> page_shift]} << page_shift;
    pieces.push_back({home + (at & (page - 1)), home + (at & (page - 1)) + end - at});
    at = end;
  }
  return pieces;
}

std::vector<PageHeap::Piece> PageHeap::pieces_of(const Block& block) const {
  if (const std::optional<Units> at = arena_.place_of(block.address)) return {{*at, *at + units(block.size)}};
  return pieces_of(*arena_.aliases().containing(block.address), arena_.page_shift());
}

// One run, or all whole pages under an alias.
Bytes PageHeap::largest_free() const {
  const Units run = views_.largest();
  const Units pages = arena_.maps() ? Units{views_.whole_pages()} << arena_.page_shift() : 0;
  return {std::max(run, pages) * kUnit};
}

bool PageHeap::empty() const { return pages_ == 0; }

}  // namespace quarry
