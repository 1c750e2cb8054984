// SegmentHeap: what reads or rebuilds the whole of it. Nothing here is on the path of a request.
#include <quarry/allocator/heap/segment_heap.h>

#include <quarry/allocator/check.h>

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
  return view.size > Bytes{} && limit > view.address;
}

}  // namespace

DriverStatus SegmentHeap::restore(const SegmentView& view, std::vector<Block*>& live) {
  if (!consistent(view)) return {DriverCode::invalid};
  Segment segment;
  segment.size = view.size;
  segment.stream = view.stream;
  segment.size_class = view.size_class;
  if (const DriverStatus status = host_.allocate_segment(segment); !status) return status;
  Block* whole = adopt(segment);
  if (segment.address != view.address) {
    insert(whole);
    return {DriverCode::invalid};
  }
  restore_blocks(view, whole, live);
  return {};
}

// Cuts the live blocks out of one free block, front to back; the gaps stay free and go into the index at the end.
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
  for (Block* gap : gaps) insert(gap);
}

void SegmentHeap::walk(Snapshot& into) const {
  for (const auto& [address, segment] : segments_) {
    SegmentView view{segment.number, address, segment.size, segment.stream, kDefaultPool, segment.size_class,
                     false,          {}};
    for (const Block* block = segment.first; block != nullptr; block = block->next) {
      const bool free = block->is_free();
      view.blocks.push_back(
          {block->address, block->size, free ? Bytes{} : block->requested, block->state, free ? Tag{} : block->tag});
    }
    into.segments.push_back(std::move(view));
  }
}

std::string SegmentHeap::validate() const {
  std::size_t blocks = 0;
  std::size_t indexed = 0;
  const Segment* previous = nullptr;
  for (const auto& [address, segment] : segments_) {
    if (address != segment.address) return "a segment is filed under another address";
    if (previous != nullptr && previous->address + previous->size > address) return "two segments overlap";
    previous = &segment;
    if (std::string broken = validate_segment(segment, blocks, indexed); !broken.empty()) return broken;
  }
  if (blocks != slab_.used()) return "block records are taken that no segment holds";
  return validate_indexes(indexed);
}

std::string SegmentHeap::validate_segment(const Segment& segment, std::size_t& blocks, std::size_t& indexed) const {
  const Block* previous = nullptr;
  Address end = segment.address;
  for (const Block* block = segment.first; block != nullptr; block = block->next) {
    ++blocks;
    if (block->segment != &segment) return "a block names another segment than the one it lies in";
    if (block->previous != previous) return "a block and its lower neighbour disagree";
    if (block->address != end) return "there is a hole or an overlap between two blocks";
    if (block->size == Bytes{}) return "a block has no bytes";
    if (block->is_free() && previous != nullptr && previous->is_free()) return "two free neighbours were not merged";
    if (block->is_free() && !segment.leaving) ++indexed;
    end = block->address + block->size;
    previous = block;
  }
  if (end != segment.address + segment.size) return "the blocks of a segment do not fill it";
  if (segment.leaving && (segment.first->next != nullptr || !segment.first->is_free())) {
    return "a segment that is in use is on its way back to the driver";
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
