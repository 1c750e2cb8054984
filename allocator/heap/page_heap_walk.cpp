// PageHeap: what reads the whole of it. Nothing here is on the path of a request.
#include <algorithm>

#include <quarry/allocator/heap/page_heap.h>
#include <quarry/allocator/pool.h>

namespace quarry {
namespace {

BlockView view_of(const Block& block) {
  const bool free = block.state == BlockState::free;
  BlockView view;
  view.requested = free ? Bytes{} : block.requested;
  view.state = block.state;
  view.tag = free ? Tag{} : block.tag;
  view.stream = block.segment->stream;
  view.size_class = block.segment->size_class;
  view.block = block.address;
  return view;
}

}  // namespace

// Every piece of every block and every free range, by place.
std::vector<PageHeap::Placed> PageHeap::placed() const {
  std::vector<Placed> found;
  for (const Block* block = blocks_; block != nullptr; block = block->next) {
    BlockView view = view_of(*block);
    for (const Piece& part : pieces_of(*block)) {
      view.size = Bytes{(part.end - part.begin) * kUnit};
      found.push_back({part.begin, view});
      view.head = false;
      view.requested = {};
    }
  }
  for (const StreamViews::Free& range : views_.all()) {
    BlockView view;
    view.size = Bytes{(range.end - range.begin) * kUnit};
    view.stream = range.owner.value_or(kDefaultStream);
    view.shared = !range.owner;
    found.push_back({range.begin, view});
  }
  std::ranges::sort(found, {}, &Placed::at);
  for (Placed& placed : found) {
    placed.view.address = arena_.address_of(placed.at);
    if (placed.view.state == BlockState::free) placed.view.block = {};
  }
  return found;
}

// One view for each run of pages, or for each segment where nothing is mapped.
void PageHeap::walk(Snapshot& into) const {
  Units end = 0;
  bool first = true;
  for (const Placed& placed : placed()) {
    if (first || placed.at != end) {
      SegmentView segment;
      segment.address = placed.view.address;
      segment.pool = pool_.id;
      segment.size_class = SizeClass::large;
      segment.expandable = arena_.maps();
      segment.paged = true;
      segment.page_size = arena_.maps() ? arena_.page_size() : Bytes{};
      into.segments.push_back(std::move(segment));
    }
    first = false;
    SegmentView& segment = into.segments.back();
    segment.size += placed.view.size;
    segment.blocks.push_back(placed.view);
    end = placed.at + placed.view.size.count / kUnit;
  }
}

std::string PageHeap::validate() const {
  if (std::string broken = views_.validate(); !broken.empty()) return broken;
  Units end = 0;
  Units all = 0;
  for (const Placed& placed : placed()) {
    const Units size = placed.view.size.count / kUnit;
    if (placed.at < end) return "two blocks share bytes, or one lies in free memory";
    end = placed.at + size;
    all += size;
    if (arena_.maps()) {
      for (Units page = placed.at >> arena_.page_shift(); page <= (end - 1) >> arena_.page_shift(); ++page) {
        if (arena_.owner(page) != &pool_) return "a block lies in a page of another pool, or in none";
      }
    }
  }
  if (all + claimed_ != Units{pages_} << arena_.page_shift()) return "blocks and free memory do not fill the pages";
  if (arena_.maps() && arena_.pages_of(pool_) != pages_) return "pages of the heap differ from the arena's";
  Units blocks = 0;
  std::size_t count = 0;
  for (const Block* block = blocks_; block != nullptr; block = block->next) {
    blocks += block->size.count / kUnit;
    ++count;
  }
  if (count != slab_.used()) return "block records are taken that no list holds";
  if (blocks != live_) return "live units differ from a walk";
  return {};
}

}  // namespace quarry
