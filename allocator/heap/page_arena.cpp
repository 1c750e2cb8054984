#include <quarry/allocator/heap/page_arena.h>

#include <algorithm>
#include <bit>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/page_rules.h>

namespace quarry {
namespace {

constexpr std::size_t kSegmentPlaces = std::size_t{1} << 40;  // pages that segments may lie in; they cost nothing

}  // namespace

PageArena::PageArena(HeapHost& host, Bytes page_size, bool maps)
    : host_(host),
      page_size_(page_size),
      page_shift_(static_cast<unsigned>(std::countr_zero(page_size.count / kUnit))),
      maps_(maps) {
  range_.size_class = SizeClass::large;
  range_.waits = false;
  if (!maps_) gaps_.emplace(0, kSegmentPlaces);
}

Address PageArena::address_of(Units place) const {
  if (maps_) return range_.address + Bytes{place * kUnit};
  const auto& [first, segment] = *std::prev(segments_.upper_bound(place >> page_shift_));
  return segment.address + Bytes{(place - (first << page_shift_)) * kUnit};
}

std::optional<Units> PageArena::place_in_segments(Address address) const {
  const auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return std::nullopt;
  const auto& [base, first] = *std::prev(after);
  return (first << page_shift_) + (address - base).count / kUnit;
}

// Addresses for the whole device and more; where the driver has not so many, half of that, and so on.
DriverStatus PageArena::open() {
  if (open_) return {};
  range_.pages = std::make_unique<SegmentPages>(page_size_);
  DriverStatus status{DriverCode::out_of_memory};
  for (range_.size = host_.reservation_size(page_size_) * kArenaTimes; range_.size >= page_size_;
       range_.size = range_.pages->round_down({range_.size.count / 2})) {
    status = host_.reserve_segment(range_);
    if (status || status.code != DriverCode::out_of_memory) break;
  }
  if (!status) return status;
  open_ = true;
  gaps_.clear();
  gaps_.emplace(0, range_.pages->count(range_.size));
  return {};
}

void PageArena::close() {
  if (!open_ || pages_ != 0 || gaps_.size() != 1 || aliases_.count() != 0) return;
  if (!host_.unreserve_segment(range_)) return;
  open_ = false;
  gaps_.clear();
}

void PageArena::take_gap(Run run) {
  const auto at = std::prev(gaps_.upper_bound(run.first));
  const Run gap{at->first, at->second};
  QUARRY_ASSERT(run.first + run.count <= gap.first + gap.count, "pages were asked for where there are some");
  gaps_.erase(at);
  if (run.first > gap.first) gaps_.emplace(gap.first, run.first - gap.first);
  const std::size_t last = run.first + run.count;
  if (gap.first + gap.count > last) gaps_.emplace(last, gap.first + gap.count - last);
}

void PageArena::return_gap(Run run) {
  auto next = gaps_.lower_bound(run.first);
  if (next != gaps_.end() && next->first == run.first + run.count) {
    run.count += next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == run.first) {
      previous->second += run.count;
      return;
    }
  }
  gaps_.emplace(run.first, run.count);
}

DriverStatus PageArena::map(Run run, Pool& owner) {
  take_gap(run);
  const DriverStatus status =
      host_.map_pages(range_, range_.address + page_size_ * run.first, page_size_ * run.count, owner);
  if (!status) {
    return_gap(run);
    return status;
  }
  const std::size_t last = run.first + run.count;
  if (owners_.size() < last) owners_.resize(last);
  std::fill(owners_.begin() + static_cast<std::ptrdiff_t>(run.first),
            owners_.begin() + static_cast<std::ptrdiff_t>(last), &owner);
  end_ = std::max(end_, Units{last} << page_shift_);
  pages_ += run.count;
  return {};
}

std::size_t PageArena::unmap(Run run) {
  const Bytes gone =
      host_.unmap_pages(range_, range_.address + page_size_ * run.first, page_size_ * run.count, *owners_[run.first]);
  const Run done{run.first, static_cast<std::size_t>(gone.count / page_size_.count)};
  if (done.count == 0) return 0;
  for (std::size_t page = done.first; page < done.first + done.count; ++page) owners_[page] = nullptr;
  pages_ -= done.count;
  return_gap(done);
  return done.count;
}

DriverResult<Alias*> PageArena::make_alias(PageSequence pages) {
  std::vector<PageHandle> handles;
  handles.reserve(pages.size());
  for (const PageNumber page : pages) handles.push_back(range_.pages->handle(page));
  const DriverResult<Address> base = host_.map_alias(page_size_, handles);
  if (!base) return {base.status, nullptr};
  return {{}, &aliases_.add(base.value, std::move(pages))};
}

DriverStatus PageArena::drop_alias(Alias& alias) {
  const DriverStatus status = host_.unmap_alias(alias.base, page_size_ * alias.pages.size());
  if (status) aliases_.erase(alias);
  return status;
}

std::size_t PageArena::pages_of(const Pool& pool) const {
  return static_cast<std::size_t>(std::ranges::count(owners_, &pool));
}

// The first gap with a page to spare.
DriverResult<PageArena::Run> PageArena::add_segment(Bytes size, Pool& owner) {
  Segment segment;
  segment.size = size;
  segment.size_class = SizeClass::large;
  segment.pool = &owner;
  if (const DriverStatus status = host_.allocate_segment(segment); !status) return {status, {}};
  const auto pages = static_cast<std::size_t>(size.count / page_size_.count);
  const auto gap = std::ranges::find_if(gaps_, [&](const auto& run) { return run.second > pages; });
  const Run run{gap->first, pages};
  take_gap({run.first, pages + 1});
  end_ = std::max(end_, Units{run.first + pages + 1} << page_shift_);
  by_address_.emplace(segment.address, run.first);
  segments_.emplace(run.first, std::move(segment));
  return {{}, run};
}

DriverStatus PageArena::remove_segment(std::size_t first_page) {
  const auto found = segments_.find(first_page);
  const Bytes size = found->second.size;
  const DriverStatus status = host_.release_segment(found->second);
  if (!status) return status;
  by_address_.erase(found->second.address);
  segments_.erase(first_page);
  return_gap({first_page, static_cast<std::size_t>(size.count / page_size_.count) + 1});
  return {};
}

}  // namespace quarry
