#include <quarry/allocator/heap/page_placement.h>

#include <quarry/allocator/heap/placement_fast.h>
#include <quarry/allocator/heap/placement_tight.h>

namespace quarry {
namespace {

constexpr int kRunLooks = 64;

std::size_t pages_for(Units size, unsigned page_shift) {
  return static_cast<std::size_t>((size + (Units{1} << page_shift) - 1) >> page_shift);
}

}  // namespace

std::unique_ptr<PagePlacement> make_placement(PlacementRule rule, unsigned page_shift) {
  if (rule == PlacementRule::fast) return std::make_unique<FastPlacement>(page_shift);
  return std::make_unique<TightPlacement>(page_shift);
}

PageChoice grow_at_gap(const FreeSpace& free, Units size, const PageState& state, unsigned page_shift) {
  PageChoice choice;
  if (state.gaps == nullptr) return choice;
  for (const auto& [first, count] : *state.gaps) {
    const Units border = Units{first} << page_shift;
    Extent* before = free.ending_at(border);
    const Units there = before != nullptr ? before->size() : 0;
    const std::size_t grow = there >= size ? 1 : pages_for(size - there, page_shift);
    if (grow > count) continue;
    choice.kind = PageChoice::Kind::home;
    choice.grow = grow;
    choice.gap = first;
    choice.extent = before;
    choice.at = border - there;
    return choice;
  }
  return choice;
}

PageChoice choose_run(const FreeSpace& free, Units size, const PageState& state, unsigned page_shift) {
  PageChoice choice;
  const auto take = [&](Extent* extent) {
    const Units at = free.ceil_page(extent->begin);
    if (at + size > extent->end) return true;
    choice.kind = PageChoice::Kind::home;
    choice.at = at;
    choice.extent = extent;
    return false;
  };
  free.for_fits(size, kRunLooks, take);
  if (choice.kind != PageChoice::Kind::none) return choice;
  // One of this length has room wherever it begins.
  Extent* const sure = free.good_fit(size + (Units{1} << page_shift) - 1);
  if (sure != nullptr && !take(sure)) return choice;
  if (state.gaps == nullptr) return choice;
  choice = grow_at_gap(free, size, state, page_shift);
  if (choice.extent == nullptr) return choice;
  // The run starts with the first whole page before the gap.
  const Units border = Units{choice.gap} << page_shift;
  choice.at = free.ceil_page(choice.extent->begin);
  if (choice.at == border) choice.extent = nullptr;
  // The search for fits looks at some extents only: this one may do as it is.
  choice.grow = border - choice.at >= size ? 0 : pages_for(size - (border - choice.at), page_shift);
  return choice;
}

}  // namespace quarry
