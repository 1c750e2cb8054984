// SegmentHeap: what only expandable segments need. Rules: reference/pytorch_allocator.md section 6, findings E1 to E3.
//
// The grow lock is held throughout, so unmapped blocks change nowhere else. Mapped ones may: the heap lock is dropped
// around every driver call. A mapped block that must stay as it is meanwhile is claimed: in no index, merged by nobody.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/pytorch_rules.h>
#include <quarry/allocator/heap/segment_heap.h>
#include <quarry/allocator/pool.h>

namespace quarry {
namespace {

bool available(const Block* block) { return block != nullptr && (block->is_free() || block->is_unmapped()); }

Bytes offset_of(const Block& block) { return block.address - block.segment->address; }

// The pages that lie wholly inside the block; empty if there is none.
struct PageRange {
  Address address;
  Bytes size;
};
PageRange whole_pages(const Block& block) {
  const SegmentPages& pages = *block.segment->pages;
  const Bytes first = pages.round_up(offset_of(block));
  const Bytes end = pages.round_down(offset_of(block) + block.size);
  return {block.segment->address + first, first < end ? end - first : Bytes{}};
}

}  // namespace

// Growth -------------------------------------------------------------------------------------------------------------

// The limit is asked about the plain segment that the request would have got (findings L3). A reservation that could
// not be filled stays for the next request.
DriverResult<Block*> SegmentHeap::grow_expandable(const Placement& placement) {
  if (host_.over_limit(placement.segment_size)) return {{DriverCode::out_of_memory}, nullptr};
  for (;;) {
    Block* first = find_chain(placement);
    if (first == nullptr) {
      const Bytes page = page_size_of(placement.size_class);
      if (placement.size > host_.reservation_size(page)) return {{DriverCode::out_of_memory}, nullptr};
      const DriverResult<Block*> fresh = reserve(placement.size_class, placement.stream, page);
      if (!fresh) return fresh;
      first = fresh.value;
    }
    const DriverResult<Block*> got = extend(first, placement.size);
    if (!got) return got;
    if (got.value == nullptr) continue;  // another thread took a part of it
    index_of(*got.value->segment).erase(got.value);
    return {{}, take(got.value, placement.size, true)};
  }
}

// Of new segments.
Bytes SegmentHeap::page_size_of(SizeClass size_class) const {
  return size_class == SizeClass::small ? kSmallSegment : host_.heap_options().large_segment_size;
}

// Unmapped blocks in order of address; from each, or from the free block right before it, free and unmapped neighbours
// are added up. The first chain that is long enough wins.
Block* SegmentHeap::find_chain(const Placement& placement) const {
  const auto start = [](Block* block) { return available(block->previous) ? block->previous : block; };
  const auto long_enough = [&](Block* block) {
    Bytes sum;
    for (block = start(block); available(block) && sum < placement.size; block = block->next) sum += block->size;
    return sum >= placement.size;
  };
  Block* block = unmapped_.find(placement.size_class, placement.stream, long_enough);
  return block == nullptr ? nullptr : start(block);
}

// A new reservation: one unmapped block.
DriverResult<Block*> SegmentHeap::reserve(SizeClass size_class, StreamId stream, Bytes page_size) {
  Segment segment;
  segment.pages = std::make_unique<SegmentPages>(page_size);
  segment.size = host_.reservation_size(page_size);
  segment.stream = stream;
  segment.size_class = size_class;
  segment.pool = &pool_;
  if (const DriverStatus status = host_.reserve_segment(segment); !status) return {status, nullptr};
  Block* block = adopt(std::move(segment));
  put_unmapped(block);
  return {{}, block};
}

// Maps what is missing from `first` on until there are `size` bytes in one free block, which is in its index. Each
// unmapped stretch is one operation, and stays mapped when a later one fails. Null, without an error, when another
// thread took a free block of the chain meanwhile.
DriverResult<Block*> SegmentHeap::extend(Block* first, Bytes size) {
  Block* got = nullptr;
  DriverStatus status;
  for (Block* next = first; got == nullptr || got->size < size; next = got->next) {
    if (next->is_unmapped()) {
      const Bytes missing = got == nullptr ? size : size - got->size;
      status = map_front(next, std::min(missing, next->size));
      if (!status) break;
    } else if (next->is_free()) {
      index_of(*next->segment).erase(next);
      next->aside = Aside::claimed;
    } else {
      put_back(got);
      return {{}, nullptr};
    }
    got = got == nullptr ? next : absorb(got, next);
  }
  Block* whole = got == nullptr ? nullptr : put_back(got);
  return {status, status ? whole : nullptr};
}

// Maps the pages of the first `wanted` bytes of an unmapped block, which is claimed then; the rest becomes a block of
// its own.
DriverStatus SegmentHeap::map_front(Block* block, Bytes wanted) {
  Segment& segment = *block->segment;
  const Bytes size = segment.pages->round_up(wanted);
  if (const DriverStatus status = host_.map_pages(segment, block->address, size, pool_); !status) return status;
  unmapped_.erase(block);
  block->aside = Aside::claimed;
  if (size < block->size) put_unmapped(cut(block, size));
  return {};
}

// The block is in no index; it merges with its unmapped neighbours.
void SegmentHeap::put_unmapped(Block* block) {
  block->aside = Aside::unmapped;
  if (Block* next = block->next; next != nullptr && next->is_unmapped()) {
    unmapped_.erase(next);
    absorb(block, next);
  }
  if (Block* previous = block->previous; previous != nullptr && previous->is_unmapped()) {
    unmapped_.erase(previous);
    block = absorb(previous, block);
  }
  unmapped_.insert(block);
}

// Shrinking ----------------------------------------------------------------------------------------------------------

// Every page that lies wholly inside a free block.
Bytes SegmentHeap::release_pages(SizeClass size_class) {
  std::vector<Block*> blocks;
  for (const FreeIndex& index : indexes_[static_cast<std::size_t>(size_class)]) {
    index.for_each([&](Block* block) {
      if (block->segment->expandable() && whole_pages(*block).size > Bytes{}) blocks.push_back(block);
    });
  }
  for (Block* block : blocks) {
    index_of(*block->segment).erase(block);
    block->aside = Aside::claimed;
  }
  Bytes released;
  for (Block* block : blocks) {
    const PageRange pages = whole_pages(*block);
    released += unmap_part(block, pages.address, pages.size);
  }
  return released;
}

// `block` is claimed, the range is whole pages of it. What lies before and behind what was unmapped stays mapped and
// free. A segment without pages gives its addresses back.
Bytes SegmentHeap::unmap_part(Block* block, Address from, Bytes size) {
  Segment& segment = *block->segment;
  const Bytes gone = host_.unmap_pages(segment, from, size, pool_);
  if (gone == Bytes{}) {
    put_back(block);
    return gone;
  }
  const Bytes before = from - block->address;
  if (before + gone < block->size) put_back(cut(block, before + gone));
  Block* hole = before > Bytes{} ? cut(block, before) : block;
  put_unmapped(hole);
  if (before > Bytes{}) put_back(block);
  if (segment.first->is_unmapped() && !segment.first->is_split()) unreserve(segment);
  return gone;
}

DriverStatus SegmentHeap::unmap_at(Address base, Bytes size) {
  auto found = segments_.upper_bound(base);
  if (found == segments_.begin()) return {DriverCode::invalid};
  Segment& segment = (--found)->second;
  Block* block = segment.expandable() ? block_around(segment, base, size) : nullptr;
  if (block == nullptr || !block->is_free()) return {DriverCode::invalid};
  const PageRange pages = whole_pages(*block);
  const Bytes offset = base - segment.address;
  const bool whole = segment.pages->round_down(offset) == offset && segment.pages->round_down(size) == size;
  if (!whole || base < pages.address || base + size > pages.address + pages.size) return {DriverCode::invalid};
  index_of(segment).erase(block);
  block->aside = Aside::claimed;
  return unmap_part(block, base, size) == size ? DriverStatus{} : DriverStatus{DriverCode::other};
}

// The block that holds the whole range; null if there is none.
Block* SegmentHeap::block_around(Segment& segment, Address at, Bytes size) const {
  Block* block = segment.first;
  while (block != nullptr && block->address + block->size <= at) block = block->next;
  const bool holds = block != nullptr && size > Bytes{} && size <= block->size - (at - block->address);
  return holds ? block : nullptr;
}

// Nothing is mapped in the segment. When the driver does not take the addresses back they stay for the next growth.
void SegmentHeap::unreserve(Segment& segment) {
  if (!host_.unreserve_segment(segment)) return;
  unmapped_.erase(segment.first);
  slab_.drop(segment.first);
  segments_.erase(segment.address);
}

// Reservations in which nothing is mapped: those of a pool that nobody will use again.
void SegmentHeap::unreserve_unused() {
  std::vector<Segment*> unused;
  for (auto& [address, segment] : segments_) {
    if (segment.first->is_unmapped() && !segment.first->is_split()) unused.push_back(&segment);
  }
  for (Segment* segment : unused) unreserve(*segment);
}

// Replay -------------------------------------------------------------------------------------------------------------

// The run as one free block that is in no index; null where the view has no bytes.
DriverResult<Block*> SegmentHeap::restore_expandable(const SegmentView& view) {
  const DriverResult<Segment*> found = restore_reservation(view);
  if (!found || view.size == Bytes{}) return {found.status, nullptr};
  Segment& segment = *found.value;
  const Bytes offset = view.address - segment.address;
  const bool whole = segment.pages->round_down(offset) == offset && segment.pages->round_down(view.size) == view.size;
  Block* block = whole ? block_around(segment, view.address, view.size) : nullptr;
  if (block == nullptr || !block->is_unmapped()) return {{DriverCode::invalid}, nullptr};
  if (const DriverStatus status = host_.map_pages(segment, view.address, view.size, pool_); !status)
    return {status, nullptr};
  unmapped_.erase(block);
  block->aside = Aside::claimed;
  const Bytes before = view.address - block->address;
  if (before + view.size < block->size) put_unmapped(cut(block, before + view.size));
  Block* run = before > Bytes{} ? cut(block, before) : block;
  if (before > Bytes{}) put_unmapped(block);
  run->aside = Aside::no;
  return {{}, run};
}

// The reservation that holds the view's address, opened there if there is none.
DriverResult<Segment*> SegmentHeap::restore_reservation(const SegmentView& view) {
  const auto after = segments_.upper_bound(view.address);
  if (after != segments_.begin()) {
    Segment& segment = std::prev(after)->second;
    const bool same = segment.expandable() && segment.stream == view.stream && segment.size_class == view.size_class;
    if (view.address < segment.address + segment.size) {
      return {{same ? DriverCode::ok : DriverCode::invalid}, same ? &segment : nullptr};
    }
  }
  const DriverResult<Block*> fresh =
      reserve(view.size_class, view.stream, view.page_size > Bytes{} ? view.page_size : page_size_of(view.size_class));
  if (!fresh) return {fresh.status, nullptr};
  const bool right = fresh.value->address == view.address;
  return {{right ? DriverCode::ok : DriverCode::invalid}, fresh.value->segment};
}

}  // namespace quarry
