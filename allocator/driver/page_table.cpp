#include <quarry/allocator/driver/page_table.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include <quarry/allocator/check.h>

namespace quarry {

bool PageTable::meets_mapping(Address base, Bytes size) const {
  const auto after = mappings_.lower_bound(base + size);
  return after != mappings_.begin() && std::prev(after)->first + std::prev(after)->second.size > base;
}

std::optional<Address> PageTable::reservation_of(Address base, Bytes size) const {
  const auto after = reservations_.upper_bound(base);
  if (after == reservations_.begin()) return std::nullopt;
  const auto& [begin, length] = *std::prev(after);
  const Bytes skipped = base - begin;
  if (skipped > length || size > length - skipped) return std::nullopt;
  return begin;
}

bool PageTable::can_remove_reservation(Address base, Bytes size) const {
  const auto found = reservations_.find(base);
  return found != reservations_.end() && found->second == size && !meets_mapping(base, size);
}

PageHandle PageTable::add_page(Bytes size, std::uint64_t place) {
  const PageHandle page{next_page_++};
  pages_.emplace(page, Page{size, place});
  return page;
}

const PageTable::Page* PageTable::find_page(PageHandle page) const {
  const auto found = pages_.find(page);
  return found != pages_.end() && found->second.alive ? &found->second : nullptr;
}

std::optional<PageTable::Page> PageTable::destroy_page(PageHandle page) {
  const auto found = pages_.find(page);
  QUARRY_CHECK(found != pages_.end() && found->second.alive, "the page is alive");
  found->second.alive = false;
  if (found->second.mappings > 0) return std::nullopt;
  const Page gone = found->second;
  pages_.erase(found);
  return gone;
}

bool PageTable::can_map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) const {
  if (count == 0 || pages == nullptr || !valid(page_size) || base.value % granularity_.count != 0) return false;
  if (count > std::numeric_limits<std::uint64_t>::max() / page_size.count) return false;
  const Bytes size = page_size * count;
  if (!reservation_of(base, size) || meets_mapping(base, size)) return false;
  return std::all_of(pages, pages + count, [&](PageHandle handle) {
    const Page* page = find_page(handle);
    return page != nullptr && page->size == page_size;
  });
}

void PageTable::map(Address base, PageHandle handle) {
  Page& page = pages_.at(handle);
  ++page.mappings;
  mappings_.emplace(base, Mapped{handle, page.size, page.place, next_mapping_++});
}

bool PageTable::can_unmap(Address base, Bytes size) const {
  if (size.count == 0) return false;
  Bytes covered;
  for (auto at = mappings_.find(base); at != mappings_.end() && covered < size; ++at) {
    if (at->first != base + covered) return false;
    covered += at->second.size;
  }
  return covered == size;
}

std::vector<PageTable::Page> PageTable::unmap(Address base, Bytes size) {
  std::vector<Page> gone;
  const auto begin = mappings_.lower_bound(base);
  const auto end = mappings_.lower_bound(base + size);
  for (auto at = begin; at != end; ++at) {
    const auto page = pages_.find(at->second.page);
    if (--page->second.mappings > 0 || page->second.alive) continue;
    gone.push_back(page->second);
    pages_.erase(page);
  }
  mappings_.erase(begin, end);
  return gone;
}

PageTable::Mappings::const_iterator PageTable::mapping_at(Address at) const {
  const auto after = mappings_.upper_bound(at);
  if (after == mappings_.begin()) return mappings_.end();
  const auto found = std::prev(after);
  return at - found->first < found->second.size ? found : mappings_.end();
}

}  // namespace quarry
