// The simulated device's address space and pages.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <quarry/allocator/driver/page_table.h>
#include <quarry/allocator/sim/device.h>
#include <quarry/allocator/sim/hazards.h>
#include <quarry/allocator/sim/memory.h>
#include <quarry/allocator/sim/streams.h>

namespace quarry::sim {

namespace {

// Where the bytes of pages lie for the hazard checker: above every address.
constexpr std::uint64_t kPagePlaces = std::uint64_t{3} << 62;

}  // namespace

DriverResult<Address> Device::reserve(Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::reserve);
  Address at;
  // Whole pages of the host are enough for address space (recorded: expandable page_11M); what is mapped must be whole.
  const bool whole = size.count != 0 && size.count % 4096 == 0;
  if (code == DriverCode::ok && !whole) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    Taken range{size, size};
    const Address wish = script_ != nullptr ? script_->next_reservation(size) : Address{};
    const bool crooked = wish.value % options_.page_granularity.count != 0;
    code = crooked ? DriverCode::invalid : take_addresses(range, options_.page_granularity, wish, at);
  }
  if (code == DriverCode::ok) pages_->add_reservation(at, size);
  return {leave(Call::reserve, size, code, at), at};
}

DriverStatus Device::unreserve(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::unreserve);
  if (code == DriverCode::ok && !pages_->can_remove_reservation(base, size)) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    pages_->remove_reservation(base);
    layout_.give_back(base, size);
  }
  return leave(Call::unreserve, size, code, base);
}

DriverResult<PageHandle> Device::create_page(Bytes size, PageOptions /*options*/) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::create_page);
  if (code == DriverCode::ok && !pages_->valid(size)) code = DriverCode::invalid;
  if (code == DriverCode::ok && (size > free_bytes() || size > kLayoutSize)) code = DriverCode::out_of_memory;
  PageHandle page{};
  if (code == DriverCode::ok) {
    const DriverResult<std::uint64_t> place =
        real_ ? real_->file().create(size)
              : DriverResult<std::uint64_t>{{}, std::exchange(next_place_, next_place_ + size.count)};
    code = place.status.code;
    if (place) {
      page = pages_->add_page(size, place.value);
      in_use_ += size;
    }
  }
  return {leave(Call::create_page, size, code), page};
}

DriverStatus Device::destroy_page(PageHandle page) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::destroy_page);
  const PageTable::Page* const found = pages_->find_page(page);
  const Bytes size = found != nullptr ? found->size : Bytes{};
  if (code == DriverCode::ok && found == nullptr) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    if (const auto gone = pages_->destroy_page(page)) give_back_page(gone->place, gone->size);
  }
  return leave(Call::destroy_page, size, code);
}

DriverStatus Device::map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (!pages_->can_map(base, page_size, pages, count)) {
    const DriverCode code = enter(Call::map);
    return leave(Call::map, page_size, code == DriverCode::ok ? DriverCode::invalid : code, base);
  }
  const Bytes size = page_size * count;
  const Bytes offset = base - *pages_->reservation_of(base, size);
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes done = page_size * i;
    const DriverStatus mapped = map_page(base + done, offset + done, pages[i], page_size);
    if (mapped) continue;
    undo_map(base, offset, done);
    return mapped;
  }
  const DriverStatus open = leave({Call::set_access, size, enter(Call::set_access), base, offset});
  if (!open) {
    undo_map(base, offset, size);
    return open;
  }
  for (std::size_t i = 0; i < count; ++i) pages_->map(base + page_size * i, pages[i]);
  return open;
}

DriverStatus Device::map_page(Address at, Bytes offset, PageHandle page, Bytes size) {
  DriverCode code = enter(Call::map);
  if (code == DriverCode::ok && real_) code = real_->file().map(at, pages_->find_page(page)->place, size).code;
  return leave({Call::map, size, code, at, offset});
}

// One unmap over the pages mapped so far. It is no call of the space, so no fault strikes it.
void Device::undo_map(Address base, Bytes offset, Bytes size) {
  if (size.count == 0) return;
  if (real_) static_cast<void>(clear_memory(base, size));
  ++counts_[static_cast<std::size_t>(Call::unmap)];
  static_cast<void>(leave({Call::unmap, size, DriverCode::ok, base, offset}));
}

DriverStatus Device::unmap(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::unmap);
  const Address reservation = pages_->reservation_of(base, size).value_or(base);
  if (code == DriverCode::ok && !pages_->can_unmap(base, size)) code = DriverCode::invalid;
  if (code == DriverCode::ok && real_) code = clear_memory(base, size).code;
  if (code == DriverCode::ok) unmap_pages(base, size);
  return leave({Call::unmap, size, code, base, base - reservation});
}

void Device::unmap_pages(Address base, Bytes size) {
  std::vector<Places> places;
  for (auto at = pages_->mappings().find(base); at != pages_->mappings().end() && at->first - base < size; ++at) {
    places.push_back({kPagePlaces + at->second.place, at->second.size, at->second.number});
  }
  hazards_->end(HazardKind::unmap, {0, 0, {base, size}, true}, places, streams_->host());
  for (const PageTable::Page& gone : pages_->unmap(base, size)) give_back_page(gone.place, gone.size);
}

// Nothing maps the page any more and nobody can map it again. Every use went through a mapping, and was judged there.
void Device::give_back_page(std::uint64_t place, Bytes size) {
  in_use_ -= size;
  hazards_->forget({kPagePlaces + place, size, 0});
  if (real_) static_cast<void>(real_->file().destroy(place, size));
}

// What lies behind the range, up to the first address with nothing behind it.
std::vector<Places> Device::places_of(const ByteRange& range) const {
  std::vector<Places> places;
  Bytes done;
  const auto inside = [&](const auto& taken, Address at, auto size_of) {
    const auto after = taken.upper_bound(at);
    if (after == taken.begin()) return Bytes{};
    const auto& [begin, what] = *std::prev(after);
    return at - begin < size_of(what) ? size_of(what) - (at - begin) : Bytes{};
  };
  while (done < range.size) {
    const Address at = range.base + done;
    const Bytes left = range.size - done;
    Places next{at.value, {}, 0};
    if (const auto mapping = pages_->mapping_at(at); mapping != pages_->mappings().end()) {
      const Bytes skipped = at - mapping->first;
      next = {kPagePlaces + mapping->second.place + skipped.count, mapping->second.size - skipped,
              mapping->second.number};
    } else {
      const auto size_of_taken = [](const Taken& taken) { return taken.size; };
      next.size = std::max({inside(segments_, at, size_of_taken), inside(host_, at, size_of_taken),
                            inside(registered_, at, [](Bytes size) { return size; })});
    }
    if (next.size.count == 0) break;
    next.size = std::min(next.size, left);
    places.push_back(next);
    done += next.size;
  }
  return places;
}

}  // namespace quarry::sim
