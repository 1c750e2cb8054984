#include <quarry/allocator/heap/free_space.h>

#include <bit>

#include <quarry/allocator/check.h>

namespace quarry {
namespace {

constexpr std::size_t kClassBits = 6;  // 64 classes for each power of two
constexpr std::size_t kClasses = 64 * (64 - kClassBits);
constexpr int kGoodFitLooks = 8;

}  // namespace

FreeSpace::FreeSpace(unsigned page_shift)
    : page_shift_(page_shift),
      by_size_(kClasses, &Extent::by_size),
      suffix_(std::size_t{1} << page_shift, &Extent::suffix),
      prefix_(std::size_t{1} << page_shift, &Extent::prefix) {}

// Exact below 64 units; from there 64 steps for each power of two.
std::size_t FreeSpace::size_class(Units size) {
  if (size < 64) return size;
  const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1 - kClassBits;
  return 64 * (power + 1) + ((size >> power) & 63);
}

void FreeSpace::make_room(Units end) {
  if (end <= room_) return;
  room_ = end;
  begins_.resize(end);
  pages_.resize((end >> page_shift_) + 1);
}

Extent* FreeSpace::containing(Units at) const {
  if (at >= room_) return nullptr;
  const std::size_t begin = begins_.at_or_before(at);
  if (begin == BitTree::kNone) return nullptr;
  Extent* extent = by_begin_.find(begin);
  return extent->end > at ? extent : nullptr;
}

Extent* FreeSpace::from(Units at) const {
  if (Extent* extent = containing(at); extent != nullptr) return extent;
  const std::size_t next = at < room_ ? begins_.at_or_after(at) : BitTree::kNone;
  return next == BitTree::kNone ? nullptr : by_begin_.find(next);
}

Extent* FreeSpace::ending_at(Units at) const {
  if (at == 0 || at > room_) return nullptr;
  const std::size_t begin = begins_.at_or_before(at - 1);
  if (begin == BitTree::kNone) return nullptr;
  Extent* extent = by_begin_.find(begin);
  return extent->end == at ? extent : nullptr;
}

Extent* FreeSpace::good_fit(Units size) const {
  const std::size_t own = size_class(size);
  int looks = kGoodFitLooks;
  for (Extent* extent = by_size_.head(own); extent != nullptr && looks-- > 0; extent = by_size_.after(extent)) {
    if (extent->size() >= size) return extent;
  }
  const std::size_t list = by_size_.used_from(own + 1);
  if (list != BitTree::kNone) return by_size_.head(list);
  for (Extent* extent = by_size_.head(own); extent != nullptr; extent = by_size_.after(extent)) {
    if (extent->size() >= size) return extent;
  }
  return nullptr;
}

Units FreeSpace::largest() const {
  const std::size_t list = by_size_.used_up_to(kClasses - 1);
  if (list == BitTree::kNone) return 0;
  Units most = 0;
  for (const Extent* extent = by_size_.head(list); extent != nullptr; extent = by_size_.after(extent)) {
    if (extent->size() > most) most = extent->size();
  }
  return most;
}

void FreeSpace::link(Extent* extent) {
  by_size_.insert(size_class(extent->size()), extent);
  move(suffix_, 0, suffix_of(extent->begin, extent->end), extent);
  move(prefix_, 0, prefix_of(extent->begin, extent->end), extent);
}

void FreeSpace::unlink(Extent* extent) {
  by_size_.erase(size_class(extent->size()), extent);
  move(suffix_, suffix_of(extent->begin, extent->end), 0, extent);
  move(prefix_, prefix_of(extent->begin, extent->end), 0, extent);
}

void FreeSpace::mark_pages(Units begin, Units end) {
  const std::size_t first = ceil_page(begin) >> page_shift_;
  const std::size_t last = end >> page_shift_;
  if (first >= last) return;
  pages_.set_range(first, last);
  whole_pages_ += last - first;
}

void FreeSpace::unmark_pages(Units begin, Units end) {
  const std::size_t first = ceil_page(begin) >> page_shift_;
  const std::size_t last = end >> page_shift_;
  if (first >= last) return;
  pages_.clear_range(first, last);
  whole_pages_ -= last - first;
}

void FreeSpace::make(Units begin, Units end) {
  Extent* extent = slab_.make();
  extent->begin = begin;
  extent->end = end;
  begins_.set(begin);
  by_begin_.insert(extent);
  link(extent);
}

void FreeSpace::drop(Extent* extent) {
  unlink(extent);
  begins_.clear(extent->begin);
  by_begin_.erase(extent);
  slab_.drop(extent);
}

// Only the lists in which its place changes are touched.
void FreeSpace::resize(Extent* extent, Units begin, Units end) {
  move(by_size_, size_class(extent->size()), size_class(end - begin), extent);
  move(suffix_, suffix_of(extent->begin, extent->end), suffix_of(begin, end), extent);
  move(prefix_, prefix_of(extent->begin, extent->end), prefix_of(begin, end), extent);
  if (begin != extent->begin) {
    begins_.clear(extent->begin);
    by_begin_.erase(extent);
    extent->begin = begin;
    begins_.set(begin);
    by_begin_.insert(extent);
  }
  extent->end = end;
}

// The pages that become whole reach from the low neighbour's last whole page to the high one's first.
void FreeSpace::add(Units begin, Units end) {
  QUARRY_ASSERT(begin < end && end <= room_, "a free range leaves its arena");
  Extent* low = ending_at(begin);
  Extent* high = end < room_ && begins_.test(end) ? by_begin_.find(end) : nullptr;
  const Units from = low != nullptr ? std::max(low->begin, floor_page(begin)) : begin;
  const Units to = high != nullptr ? std::min(high->end, ceil_page(end)) : end;
  free_units_ += end - begin;
  mark_pages(from, to);
  if (low == nullptr && high == nullptr) {
    make(begin, end);
  } else if (high == nullptr) {
    resize(low, low->begin, end);
  } else if (low == nullptr) {
    resize(high, begin, high->end);
  } else {
    const Units last = high->end;
    drop(high);
    resize(low, low->begin, last);
  }
}

void FreeSpace::cut(Extent* extent, Units begin, Units end) {
  QUARRY_ASSERT(extent != nullptr && extent->begin <= begin && end <= extent->end && begin < end,
                "a range that is not free was taken");
  const Units first = extent->begin;
  const Units last = extent->end;
  free_units_ -= end - begin;
  unmark_pages(std::max(first, floor_page(begin)), std::min(last, ceil_page(end)));
  if (first == begin && last == end) {
    drop(extent);
  } else if (first == begin) {
    resize(extent, end, last);
  } else {
    resize(extent, first, begin);
    if (end < last) make(end, last);
  }
}

void FreeSpace::remove_any(Units begin, Units end) {
  end = std::min(end, room_);
  for (Units at = begin; at < end;) {
    Extent* extent = from(at);
    if (extent == nullptr || extent->begin >= end) return;
    const Units first = std::max(begin, extent->begin);
    at = std::min(end, extent->end);
    cut(extent, first, at);
  }
}

std::string FreeSpace::validate() const {
  Units units = 0;
  std::size_t pages = 0;
  Units last = 0;
  std::string broken;
  for_each([&](const Extent& extent) {
    if (extent.begin >= extent.end || extent.end > room_) broken = "a free extent is empty or leaves its arena";
    if (extent.begin != 0 && extent.begin <= last) broken = "two free extents overlap or were not merged";
    units += extent.size();
    for (Units page = ceil_page(extent.begin) >> page_shift_; page < extent.end >> page_shift_; ++page) {
      ++pages;
      if (!pages_.test(page)) broken = "a whole free page is not known";
    }
    last = extent.end;
  });
  if (!broken.empty()) return broken;
  if (units != free_units_) return "free units differ from a walk";
  if (pages != whole_pages_) return "whole free pages differ from a walk";
  return {};
}

}  // namespace quarry
