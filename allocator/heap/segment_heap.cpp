#include <quarry/allocator/heap/segment_heap.h>

#include <algorithm>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/pytorch_rules.h>
#include <quarry/allocator/pool.h>

namespace quarry {
namespace {

std::int64_t signed_count(Bytes n) { return static_cast<std::int64_t>(n.count); }

bool wholly_free(const Segment& segment) {
  return !segment.expandable() && segment.first->is_free() && !segment.first->is_split() && !segment.leaving;
}

bool is_plain(const Block* block) { return !block->segment->expandable(); }

// What the block could grow to in place.
Bytes potential(const Block& block) {
  const bool room = block.next != nullptr && block.next->is_unmapped();
  return room ? block.size + block.next->size : block.size;
}

Block* next_plain(const FreeIndex& index, Block* block) {
  while (block != nullptr && !is_plain(block)) block = index.after(block);
  return block;
}

// An expandable block is judged by what it could grow to: a larger one is better while it can grow to less (findings
// S3).
Block* least_potential(const FreeIndex& index, Block* block) {
  while (!is_plain(block)) {
    Block* next = index.after(block);
    if (next == nullptr || potential(*next) >= potential(*block)) break;
    block = next;
  }
  return block;
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

// With `expandable` off, expandable blocks are passed over (findings S4).
Block* SegmentHeap::search(const Placement& placement, bool expandable) {
  FreeIndex& index = index_of(placement.size_class, placement.stream);
  Block* block = index.at_least(placement.size);
  if (block != nullptr && !is_plain(block)) {
    block = expandable ? least_potential(index, block) : next_plain(index, block);
  }
  if (block == nullptr || vetoed(*block, placement)) return nullptr;
  index.erase(block);
  return take(block, placement.size, expandable);
}

Block* SegmentHeap::find(const Placement& placement) {
  return search(placement, host_.heap_options().expandable_segments);
}

Block* SegmentHeap::find_plain(const Placement& placement) { return search(placement, false); }

void SegmentHeap::note_search(const Placement& placement) {
  ++searches_[static_cast<std::size_t>(placement.size_class)];
}

std::uint32_t SegmentHeap::age(const Block& block) const {
  return searches_[static_cast<std::size_t>(block.segment->size_class)] - block.birthday;
}

// Into the index; its age starts here.
void SegmentHeap::put(Block* block) {
  block->birthday = searches_[static_cast<std::size_t>(block->segment->size_class)];
  index_of(*block->segment).insert(block);
}

// Expandable segments are left out: what is cut there can be given back.
void SegmentHeap::count_inactive(const Segment& segment, std::int64_t blocks, std::int64_t bytes) {
  if (segment.expandable()) return;
  host_.count(Metric::inactive_split, segment.size_class, blocks, pool_);
  host_.count(Metric::inactive_split_bytes, segment.size_class, bytes, pool_);
}

// `block` is free and in no index. The front goes to the caller; F1 of the findings says how the cut is counted.
Block* SegmentHeap::take(Block* block, Bytes size, bool expandable) {
  const Segment& segment = *block->segment;
  const bool was_split = block->is_split();
  if (!pool_.no_split && should_split(block->size, size, segment.size_class, expandable, host_.heap_options())) {
    Block* rest = cut(block, size);
    put(rest);
    if (was_split) {
      count_inactive(segment, 0, -signed_count(size));
    } else {
      count_inactive(segment, 1, signed_count(rest->size));
    }
  } else if (was_split) {
    count_inactive(segment, -1, -signed_count(block->size));
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

void SegmentHeap::insert(Block* block) { put_back(block); }

// The block it has become, free and in its index.
Block* SegmentHeap::put_back(Block* block) {
  FreeIndex& index = index_of(*block->segment);
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  const auto leaves_index = [&](Block* neighbour) {
    index.erase(neighbour);
    --blocks;
    bytes -= signed_count(neighbour->size);
    return neighbour;
  };
  if (block->next != nullptr && block->next->is_free()) block = absorb(block, leaves_index(block->next));
  if (block->previous != nullptr && block->previous->is_free()) block = absorb(leaves_index(block->previous), block);
  if (block->is_split()) {
    ++blocks;
    bytes += signed_count(block->size);
  }
  count_inactive(*block->segment, blocks, bytes);
  block->state = BlockState::free;
  block->aside = Aside::no;
  put(block);
  return block;
}

// A new segment, as one free block that is in no index.
Block* SegmentHeap::adopt(Segment fresh) {
  const Address address = fresh.address;
  Segment& segment = segments_.emplace(address, std::move(fresh)).first->second;
  Block* block = slab_.make();
  block->address = segment.address;
  block->size = segment.size;
  block->segment = &segment;
  segment.first = block;
  return block;
}

DriverResult<Block*> SegmentHeap::grow(const Placement& placement) {
  if (host_.heap_options().expandable_segments) return grow_expandable(placement);
  Segment segment;
  segment.size = placement.segment_size;
  segment.stream = placement.stream;
  segment.size_class = placement.size_class;
  segment.pool = &pool_;
  if (const DriverStatus status = host_.allocate_segment(segment); !status) return {status, nullptr};
  return {{}, take(adopt(std::move(segment)), placement.size, false)};
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
  if (Block* block = index.at_least(need); block != nullptr && is_plain(block) && !block->is_split()) {
    victims.push_back(block->segment);
  } else {
    for (block = index.before(nullptr); block != nullptr && found < need && block->size >= limit;
         block = index.before(block)) {
      if (block->is_split() || !is_plain(block)) continue;
      victims.push_back(block->segment);
      found += block->size;
    }
  }
  return release(victims) >= need;
}

// Rounds over the unsplit large blocks, in the order of a release: each gives back all that have the average age, then
// the average is taken anew. A round never stops at the target, so more may go than was asked for. Expandable blocks
// count in the average and stay.
Bytes SegmentHeap::collect_garbage(Bytes target) {
  std::vector<Block*> candidates;
  std::uint64_t total_age = 0;
  for (const FreeIndex& index : indexes_[static_cast<std::size_t>(SizeClass::large)]) {
    index.for_each([&](Block* block) {
      if (block->is_split()) return;
      candidates.push_back(block);
      total_age += age(*block);
    });
  }
  std::vector<Segment*> victims;
  Bytes collected;
  for (std::size_t freed = 1; freed > 0 && collected < target && !candidates.empty();) {
    const double average = static_cast<double>(total_age) / static_cast<double>(candidates.size());
    freed = std::erase_if(candidates, [&](Block* block) {
      if (!is_plain(block) || static_cast<double>(age(*block)) < average) return false;
      victims.push_back(block->segment);
      collected += block->size;
      total_age -= age(*block);
      return true;
    });
  }
  return release(victims);
}

// Order (finding L7): large before small in the default pool, small before large in others; in a class the plain
// segments, then the pages of expandable ones; then by stream, then in index order.
Bytes SegmentHeap::release_cached() {
  const bool large_first = pool_.id == kDefaultPool;
  Bytes released;
  for (const SizeClass size_class :
       {large_first ? SizeClass::large : SizeClass::small, large_first ? SizeClass::small : SizeClass::large}) {
    released += release_plain(size_class);
    released += release_pages(size_class);
  }
  if (pool_.use_count == 0) unreserve_unused();
  return released;
}

Bytes SegmentHeap::release_plain(SizeClass size_class) {
  std::vector<Segment*> victims;
  for (const FreeIndex& index : indexes_[static_cast<std::size_t>(size_class)]) {
    index.for_each([&](Block* block) {
      if (is_plain(block) && !block->is_split()) victims.push_back(block->segment);
    });
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
