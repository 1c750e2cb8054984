// SegmentHeap: what reads or rebuilds the whole of it. Nothing here is on the path of a request.
#include <quarry/allocator/heap/segment_heap.h>

#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/pool.h>

namespace quarry {
namespace {

// The blocks of `view` that are not free lie inside it, in order, without overlap, and none is empty.
bool consistent(const SegmentView& view) {
  Address end = view.address;
  const Address limit = view.address + view.size;
  for (const BlockView& block : view.blocks) {
    if (block.size == Bytes{} || block.address < end || block.address > limit) return false;
    if (block.size > limit - block.address) return false;
    end = block.address + block.size;
  }
  return view.expandable ? limit >= view.address : limit > view.address;
}

}  // namespace

DriverStatus SegmentHeap::restore(const SegmentView& view, std::vector<Block*>& live) {
  if (!consistent(view)) return {DriverCode::invalid};
  const DriverResult<Block*> whole = view.expandable ? restore_expandable(view) : restore_plain(view);
  if (whole && whole.value != nullptr) restore_blocks(view, whole.value, live);
  return whole.status;
}

DriverResult<Block*> SegmentHeap::restore_plain(const SegmentView& view) {
  Segment segment;
  segment.size = view.size;
  segment.stream = view.stream;
  segment.size_class = view.size_class;
  segment.pool = &pool_;
  if (const DriverStatus status = host_.allocate_segment(segment); !status) return {status, nullptr};
  Block* whole = adopt(std::move(segment));
  if (whole->address == view.address) return {{}, whole};
  insert(whole);
  return {{DriverCode::invalid}, nullptr};
}

// Cuts the live blocks out of one free block that is in no index, front to back; the gaps stay free and go into the
// index at the end.
void SegmentHeap::restore_blocks(const SegmentView& view, Block* whole, std::vector<Block*>& live) {
  std::vector<Block*> gaps;
  Block* rest = whole;
  for (const BlockView& block : view.blocks) {
    if (block.state == BlockState::free) continue;
    QUARRY_ASSERT(rest != nullptr, "a consistent segment has room for its blocks");
    if (block.address > rest->address) {
      gaps.push_back(rest);
      rest = cut(rest, block.address - rest->address);
    }
    Block* taken = rest;
    rest = block.size < taken->size ? cut(taken, block.size) : nullptr;
    taken->state = BlockState::live;
    taken->requested = block.requested;
    taken->tag = block.tag;
    live.push_back(taken);
  }
  if (rest != nullptr) gaps.push_back(rest);
  // Two gaps are never neighbours, but a gap at the end of a run may lie beside an older one.
  for (Block* gap : gaps) insert(gap);
}

void SegmentHeap::walk(Snapshot& into) const {
  for (const auto& [address, segment] : segments_) walk_segment(segment, into);
}

// One view, or one for each run of mapped pages.
void SegmentHeap::walk_segment(const Segment& segment, Snapshot& into) const {
  const Bytes page = segment.expandable() ? segment.pages->page_size() : Bytes{};
  bool in_run = false;
  for (const Block* block = segment.first; block != nullptr; block = block->next) {
    if (block->is_unmapped()) {
      in_run = false;
      continue;
    }
    if (!in_run) {
      into.segments.push_back({segment.number,
                               block->address,
                               {},
                               segment.stream,
                               pool_.id,
                               segment.size_class,
                               segment.expandable(),
                               {},
                               page});
    }
    in_run = true;
    SegmentView& view = into.segments.back();
    const bool free = block->state == BlockState::free;
    view.size += block->size;
    view.blocks.push_back(
        {block->address, block->size, free ? Bytes{} : block->requested, block->state, free ? Tag{} : block->tag});
  }
}

std::string SegmentHeap::validate() const {
  Census census;
  const Segment* previous = nullptr;
  for (const auto& [address, segment] : segments_) {
    if (address != segment.address) return "a segment is filed under another address";
    if (previous != nullptr && previous->address + previous->size > address) return "two segments overlap";
    previous = &segment;
    if (std::string broken = validate_segment(segment, census); !broken.empty()) return broken;
  }
  if (census.blocks != slab_.used()) return "block records are taken that no segment holds";
  if (census.unmapped != unmapped_.size()) return "unmapped blocks are known that no segment holds";
  return validate_indexes(census.indexed);
}

std::string SegmentHeap::validate_segment(const Segment& segment, Census& census) const {
  const Block* previous = nullptr;
  Address end = segment.address;
  for (const Block* block = segment.first; block != nullptr; block = block->next) {
    ++census.blocks;
    if (block->previous != previous) return "a block and its lower neighbour disagree";
    if (block->address != end) return "there is a hole or an overlap between two blocks";
    if (std::string broken = validate_block(segment, *block); !broken.empty()) return broken;
    if (block->is_unmapped()) ++census.unmapped;
    if (block->is_free() && !segment.leaving) ++census.indexed;
    end = block->address + block->size;
    previous = block;
  }
  if (end != segment.address + segment.size) return "the blocks of a segment do not fill it";
  if (segment.leaving && (segment.first->next != nullptr || !segment.first->is_free())) {
    return "a segment that is in use is on its way back to the driver";
  }
  return {};
}

std::string SegmentHeap::validate_block(const Segment& segment, const Block& block) const {
  const Block* previous = block.previous;
  if (block.segment != &segment) return "a block names another segment than the one it lies in";
  if (block.size == Bytes{}) return "a block has no bytes";
  if (block.is_free() && previous != nullptr && previous->is_free()) return "two free neighbours were not merged";
  if (block.aside != Aside::no && block.state != BlockState::free) return "a block in use is set aside";
  if (!segment.expandable()) return block.aside == Aside::no ? "" : "a block of a plain segment is set aside";
  const bool unmapped = block.is_unmapped();
  if (unmapped && previous != nullptr && previous->is_unmapped()) return "two unmapped neighbours were not merged";
  if (unmapped != unmapped_.contains(&block)) return "an unmapped block is not known, or a mapped one is";
  const SegmentPages& pages = *segment.pages;
  const Bytes end = block.address - segment.address + block.size;
  for (Bytes at = pages.round_down(block.address - segment.address); at < end; at += pages.page_size()) {
    if (pages.mapped(at) == unmapped)
      return unmapped ? "a page of an unmapped block is mapped" : "a block lacks a page";
  }
  return {};
}

std::string SegmentHeap::validate_indexes(std::size_t expected) const {
  std::size_t found = 0;
  std::string broken;
  for (std::size_t size_class = 0; size_class < indexes_.size(); ++size_class) {
    for (std::size_t stream = 0; stream < indexes_[size_class].size(); ++stream) {
      Bytes last;
      indexes_[size_class][stream].for_each([&](const Block* block) {
        ++found;
        if (!block->is_free()) broken = "a block in use is in the free index";
        if (static_cast<std::size_t>(block->segment->size_class) != size_class)
          broken = "a block is in the wrong class";
        if (static_cast<std::size_t>(block->segment->stream) != stream) broken = "a block is in the wrong stream";
        if (block->size < last) broken = "the free index is out of order";
        last = block->size;
      });
    }
  }
  if (!broken.empty()) return broken;
  return found == expected ? std::string{} : "a free block is in no index, or in two";
}

}  // namespace quarry
