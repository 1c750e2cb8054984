// Space: the heaps' door to the driver's address space and pages, for expandable segments and the
// paged policy.
#include <algorithm>

#include <quarry/allocator/planted_race.h>
#include <quarry/allocator/space.h>
#include <quarry/allocator/space_errors.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {
namespace {

// What stands for the size of a device that names no bound. Addresses cost nothing, but there is an end to them.
constexpr Bytes kBoundlessDevice{1ull << 39};

}  // namespace

// 9/8 of the device in whole pages, so that one segment can hold all of it in spite of holes.
Bytes Space::reservation_size(Bytes page) const {
  const Bytes device = std::min(device_total_, kBoundlessDevice);
  const std::uint64_t wanted = device.count + device.count / 8;
  return {(wanted + page.count - 1) / page.count * page.count};
}

DriverStatus Space::reserve_segment(Segment& segment) {
  if (driver_->mapping() == nullptr) return {DriverCode::unsupported};  // a restore may ask for it
  DriverResult<Address> got;
  {
    const Unlocked unlocked(heap_mutex_);
    got = driver_->mapping()->reserve(segment.size);
  }
  if (!got) return got.status;
  segment.address = got.value;
  segment.number = static_cast<SegmentNumber>(next_segment_++);
  return {};
}

DriverStatus Space::unreserve_segment(const Segment& segment) {
  const Unlocked unlocked(heap_mutex_);
  const DriverStatus status = driver_->mapping()->unreserve(segment.address, segment.size);
  // A driver that is shutting down has taken everything back already.
  return status.code == DriverCode::gone ? DriverStatus{} : status;
}

// The fraction is judged by the heap, as the original does it; the limit in bytes is ours and holds to the page.
DriverStatus Space::map_pages(Segment& segment, Address at, Bytes size, Pool& owner) {
  const Bytes held = reserved();
  if (held > options_.memory_limit || size > options_.memory_limit - held) return {DriverCode::out_of_memory};
  DriverResult<std::vector<PageHandle>> pages;
  {
    const Unlocked unlocked(heap_mutex_);
    pages = page_mapper_.map(at, segment.pages->page_size(), segment.pages->count(size));
  }
  if (!pages) return pages.status;
  segment.pages->set(at - segment.address, pages.value);
  ++counters_[Tally::num_device_alloc];
  count(Metric::reserved_bytes, segment.size_class, static_cast<std::int64_t>(size.count), owner);
  record(Action::segment_map, at, size, segment.stream, owner.id);
  return {};
}

Bytes Space::unmap_pages(Segment& segment, Address at, Bytes size, Pool& owner) {
  if (segment.waits && !wait_for_owner(segment.stream)) return {};
  const Bytes page = segment.pages->page_size();
  const std::vector<PageHandle> pages = segment.pages->handles(at - segment.address, size);
  Bytes gone;
  {
    const Unlocked unlocked(heap_mutex_);
    gone = page * page_mapper_.unmap(at, page, pages);
  }
  if (gone == Bytes{}) return gone;
  segment.pages->clear(at - segment.address, gone);
  ++counters_[Tally::num_device_free];
  count(Metric::reserved_bytes, segment.size_class, -static_cast<std::int64_t>(gone.count), owner);
  record(Action::segment_unmap, at, gone, segment.stream, owner.id);
  return gone;
}

DriverResult<Address> Space::map_alias(Bytes page, const std::vector<PageHandle>& pages) {
  ++counters_[Tally::num_alias_maps];
  const Unlocked unlocked(heap_mutex_);
  return page_mapper_.map_alias(page, pages);
}

DriverStatus Space::unmap_alias(Address base, Bytes size) {
  const Unlocked unlocked(heap_mutex_);
  return page_mapper_.unmap_alias(base, size);
}

void Space::move_reserved(Pool& from, Pool& to, Bytes size) {
  const auto bytes = static_cast<std::int64_t>(size.count);
  if (!rows_split_) return;
  from.counters.change(Metric::reserved_bytes, SizeClass::large, -bytes);
  to.counters.change(Metric::reserved_bytes, SizeClass::large, bytes);
}

// Addresses are not ordered by streams: the host must have seen all work on a page complete before it goes.
DriverStatus Space::wait_for_owner(StreamId stream) {
  QUARRY_PLANTED(early_unmap, return {});
  Ordering* ordering = driver_->ordering();
  const StreamTable::Entry entry = streams_.at(stream);
  if (ordering == nullptr || entry.state == StreamTable::State::retired) return {};
  const Unlocked unlocked(heap_mutex_);
  DriverStatus waited{DriverCode::invalid};
  if (entry.state == StreamTable::State::open) {
    waited = ordering->synchronize_stream(reinterpret_cast<void*>(entry.handle));
  }
  // The handle is dead, or its stream is not known any more.
  if (waited.code == DriverCode::invalid) waited = ordering->synchronize_device();
  return waited.code == DriverCode::gone ? DriverStatus{} : waited;
}

Status Space::unmap_range(Address base, Bytes size) {
  const std::lock_guard grow(grow_mutex_);
  const std::lock_guard lock(heap_mutex_);
  for (auto& [id, pool] : pools_) {
    if (pool.heap == nullptr) continue;
    const DriverStatus status = pool.heap->unmap_at(base, size);
    if (status) return Done{};
    if (status.code != DriverCode::invalid) return driver_error("unmapping pages", status);
  }
  return Error{ErrorCode::invalid, "no free pages of an expandable segment lie at " + std::to_string(base.value)};
}

}  // namespace quarry
