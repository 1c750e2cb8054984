#include <quarry/allocator/heap/segment_heap.h>

#include <algorithm>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/pytorch_rules.h>

namespace quarry {
namespace {

std::int64_t signed_count(Bytes n) { return static_cast<std::int64_t>(n.count); }

bool wholly_free(const Segment& segment) {
  return segment.first->is_free() && !segment.first->is_split() && !segment.leaving;
}

}  // namespace

Placement SegmentHeap::plan(Bytes requested, StreamId stream) const {
  const Options& options = host_.heap_options();
  const Bytes size = round_size(requested, options);
  return {size, segment_size_for(size, options), size_class_of(size), stream};
}

FreeIndex& SegmentHeap::index_of(SizeClass size_class, StreamId stream) {
  Streams& streams = indexes_[static_cast<std::size_t>(size_class)];
  const auto number = static_cast<std::size_t>(stream);
  while (streams.size() <= number) streams.emplace_back(tie_break_);
  return streams[number];
}

// Only the best fit is judged: a block that may not serve is not passed over for the next one.
bool SegmentHeap::vetoed(const Block& block, const Placement& placement) const {
  const Options& options = host_.heap_options();
  if (placement.size < options.max_split_size) return block.size >= options.max_split_size;
  return block.size - placement.size >= options.effective_max_non_split_rounding();
}

Block* SegmentHeap::find(const Placement& placement) {
  FreeIndex& index = index_of(placement.size_class, placement.stream);
  Block* block = index.at_least(placement.size);
  if (block == nullptr || vetoed(*block, placement)) return nullptr;
  index.erase(block);
  return take(block, placement.size);
}

void SegmentHeap::count_inactive(SizeClass size_class, std::int64_t blocks, std::int64_t bytes) {
  Counters& counters = host_.heap_counters();
  counters.change(Metric::inactive_split, size_class, blocks);
  counters.change(Metric::inactive_split_bytes, size_class, bytes);
}

// `block` is free and in no index. The front goes to the caller; F1 of the findings says how the cut is counted.
Block* SegmentHeap::take(Block* block, Bytes size) {
  const SizeClass size_class = block->segment->size_class;
  const bool was_split = block->is_split();
  if (should_split(block->size, size, size_class, host_.heap_options())) {
    Block* rest = cut(block, size);
    index_of(*block->segment).insert(rest);
    if (was_split) {
      count_inactive(size_class, 0, -signed_count(size));
    } else {
      count_inactive(size_class, 1, signed_count(rest->size));
    }
  } else if (was_split) {
    count_inactive(size_class, -1, -signed_count(block->size));
  }
  block->state = BlockState::live;
  return block;
}

// Makes the part of `block` from `size` on a block of its own, free and in no index.
Block* SegmentHeap::cut(Block* block, Bytes size) {
  Block* rest = slab_.make();
  rest->address = block->address + size;
  rest->size = block->size - size;
  rest->segment = block->segment;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) rest->next->previous = rest;
  block->next = rest;
  block->size = size;
  return rest;
}

// Joins two neighbours into `low`; neither is in an index.
Block* SegmentHeap::absorb(Block* low, Block* high) {
  low->size += high->size;
  low->next = high->next;
  if (low->next != nullptr) low->next->previous = low;
  slab_.drop(high);
  return low;
}

void SegmentHeap::insert(Block* block) {
  const SizeClass size_class = block->segment->size_class;
  FreeIndex& index = index_of(*block->segment);
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  const auto leaves_index = [&](Block* neighbour) {
    index.erase(neighbour);
    --blocks;
    bytes -= signed_count(neighbour->size);
    return neighbour;
  };
  block->state = BlockState::free;
  if (block->next != nullptr && block->next->is_free()) block = absorb(block, leaves_index(block->next));
  if (block->previous != nullptr && block->previous->is_free()) block = absorb(leaves_index(block->previous), block);
  if (block->is_split()) {
    ++blocks;
    bytes += signed_count(block->size);
  }
  count_inactive(size_class, blocks, bytes);
  block->state = BlockState::free;
  index.insert(block);
}

// A new segment, as one free block that is in no index.
Block* SegmentHeap::adopt(const Segment& fresh) {
  Segment& segment = segments_.emplace(fresh.address, fresh).first->second;
  Block* block = slab_.make();
  block->address = segment.address;
  block->size = segment.size;
  block->segment = &segment;
  segment.first = block;
  return block;
}

DriverResult<Block*> SegmentHeap::grow(const Placement& placement) {
  Segment segment;
  segment.size = placement.segment_size;
  segment.stream = placement.stream;
  segment.size_class = placement.size_class;
  if (const DriverStatus status = host_.allocate_segment(segment); !status) return {status, nullptr};
  return {{}, take(adopt(segment), placement.size)};
}

// Step 9 of the ladder (findings L5, 13): only with a split limit, only this stream and class. One block that is big
// enough goes first; else oversize ones from the largest down. Blocks that are split stay: giving back a segment under
// a live block is the one thing of the original that must not be repeated.
bool SegmentHeap::release_for(const Placement& placement) {
  const Bytes limit = host_.heap_options().max_split_size;
  if (limit == kUnlimited) return false;
  const Bytes need = std::max(placement.size, limit);
  const FreeIndex& index = index_of(placement.size_class, placement.stream);
  std::vector<Segment*> victims;
  Bytes found;
  if (Block* block = index.at_least(need); block != nullptr && !block->is_split()) {
    victims.push_back(block->segment);
  } else {
    for (block = index.before(nullptr); block != nullptr && found < need && block->size >= limit;
         block = index.before(block)) {
      if (block->is_split()) continue;
      victims.push_back(block->segment);
      found += block->size;
    }
  }
  return release(victims) >= need;
}

// Order (finding L7): large before small, then by stream, then in index order.
Bytes SegmentHeap::release_cached() {
  std::vector<Segment*> victims;
  for (const SizeClass size_class : {SizeClass::large, SizeClass::small}) {
    for (const FreeIndex& index : indexes_[static_cast<std::size_t>(size_class)]) {
      index.for_each([&](Block* block) {
        if (!block->is_split()) victims.push_back(block->segment);
      });
    }
  }
  return release(victims);
}

DriverStatus SegmentHeap::release_at(Address base) {
  const auto found = segments_.find(base);
  if (found == segments_.end() || !wholly_free(found->second)) return {DriverCode::invalid};
  detach(found->second);
  return release(found->second);
}

// From here no request can take the segment, so the heap lock may be dropped around the driver call.
void SegmentHeap::detach(Segment& segment) {
  index_of(segment).erase(segment.first);
  segment.leaving = true;
}

Bytes SegmentHeap::release(const std::vector<Segment*>& victims) {
  for (Segment* segment : victims) detach(*segment);
  Bytes released;
  for (Segment* segment : victims) {
    const Bytes size = segment->size;
    if (release(*segment)) released += size;
  }
  return released;
}

DriverStatus SegmentHeap::release(Segment& segment) {
  const DriverStatus status = host_.release_segment(segment);
  if (status) {
    slab_.drop(segment.first);
    segments_.erase(segment.address);
  } else {
    segment.leaving = false;
    index_of(segment).insert(segment.first);
  }
  return status;
}

Bytes SegmentHeap::largest_free() const {
  Bytes largest;
  for (const Streams& streams : indexes_) {
    for (const FreeIndex& index : streams) {
      if (const Block* block = index.before(nullptr); block != nullptr) largest = std::max(largest, block->size);
    }
  }
  return largest;
}

}  // namespace quarry
