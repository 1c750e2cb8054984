#include <quarry/allocator/heap/placement_fast.h>

namespace quarry {

PageChoice FastPlacement::choose(const FreeSpace& free, Units size, const PageState& state) const {
  PageChoice choice;
  if (Extent* extent = free.good_fit(size); extent != nullptr) [[likely]] {
    choice.kind = PageChoice::Kind::home;
    // From the high end, so that the extent keeps its begin, by which it is known.
    choice.at = before_last_gap(*extent, state) ? extent->begin : extent->end - size;
    choice.extent = extent;
    return choice;
  }
  const PageChoice grown = grow_at_gap(free, size, state, page_shift_);
  if (state.gaps == nullptr || size >> page_shift_ == 0) return grown;
  const PageChoice stitched = stitch(free, size);
  if (grown.kind == PageChoice::Kind::none) return stitched;
  return stitched.grow < grown.grow && state.maps < maps_per_page() * grown.grow ? stitched : grown;
}

// There growth goes on, and should find what is free.
bool FastPlacement::before_last_gap(const Extent& extent, const PageState& state) const {
  if (state.gaps == nullptr || state.gaps->empty()) return false;
  return Units{std::prev(state.gaps->end())->first} << page_shift_ == extent.end;
}

// The rest over whole pages goes to the smallest hole it fits, at either end.
PageChoice FastPlacement::stitch(const FreeSpace& free, Units size) const {
  PageChoice choice;
  choice.kind = PageChoice::Kind::stitch;
  choice.whole = static_cast<std::size_t>(size >> page_shift_);
  std::size_t need = choice.whole;
  const Units rest = size - (Units{choice.whole} << page_shift_);
  if (rest != 0) {
    const std::size_t front = free.suffix_holes().used_from(rest);
    const std::size_t back = free.prefix_holes().used_from(rest);
    if (front < back) {
      choice.front = rest;
      choice.front_hole = free.suffix_holes().head(front);
    } else {
      choice.back = rest;
      if (back != BitTree::kNone) choice.back_hole = free.prefix_holes().head(back);
      if (back == BitTree::kNone) ++need;
    }
  }
  choice.grow = need > free.whole_pages() ? need - free.whole_pages() : 0;
  return choice;
}

}  // namespace quarry
