#include "tools/replay/packed_items.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace quarry::tools {

void PackedItems::Window::insert(const Placed& placed) {
  constexpr std::size_t kLargest = 512;
  const auto below = [](std::uint64_t bottom, const std::vector<Placed>& chunk) {
    return bottom < chunk.front().bottom;
  };
  if (chunks_.empty()) {
    chunks_.push_back({placed});
    return;
  }
  auto chunk = std::upper_bound(chunks_.begin(), chunks_.end(), placed.bottom, below);
  if (chunk != chunks_.begin()) --chunk;
  chunk->insert(std::ranges::upper_bound(*chunk, placed.bottom, {}, &Placed::bottom), placed);
  if (chunk->size() < kLargest) return;
  const auto middle = chunk->begin() + kLargest / 2;
  std::vector<Placed> upper(middle, chunk->end());
  chunk->erase(middle, chunk->end());
  chunks_.insert(std::next(chunk), std::move(upper));
}

// Shorter windows are added while they would hold enough, and while items that live long do not take too much room.
PackedItems::PackedItems(std::span<const PackItem> items, std::uint32_t time) {
  constexpr std::uint32_t kFactor = 8;
  constexpr std::size_t kEnough = 256;  // items of a window that are not worth dividing further
  constexpr std::size_t kMostLevels = 3;
  const std::size_t most_copies = std::max<std::size_t>(4 * items.size(), 1 << 20);
  levels_.push_back({std::max(time, 1u), std::vector<Window>(1)});
  for (std::uint32_t parts = kFactor; levels_.size() < kMostLevels && items.size() / parts > kEnough;
       parts *= kFactor) {
    Level level{std::max(time / (2 * parts), 1u), {}};
    std::size_t copies = 0;
    for (const PackItem& item : items) copies += level.last(item) - level.first(item) + 1;
    if (copies > most_copies) return;
    level.windows.resize(time / level.stride + 1);
    levels_.push_back(std::move(level));
  }
}

const PackedItems::Window& PackedItems::around(const PackItem& item) const {
  for (std::size_t i = levels_.size() - 1; i > 0; --i) {
    const Level& level = levels_[i];
    const std::uint32_t own = item.begin / level.stride;
    if (level.last(item) <= own + 1) return level.windows[own];
  }
  return levels_.front().windows.front();
}

Bytes PackedItems::find(const PackItem& item, Fit fit) const {
  std::uint64_t top = 0;  // of what was passed so far
  std::uint64_t best = 0;
  std::uint64_t best_gap = std::numeric_limits<std::uint64_t>::max();
  for (const std::vector<Placed>& chunk : around(item).chunks()) {
    for (const Placed& placed : chunk) {
      if (placed.begin >= item.end || placed.end <= item.begin) continue;
      const std::uint64_t gap = placed.bottom > top ? placed.bottom - top : 0;
      if (gap >= item.size.count && gap < best_gap) {
        if (fit == Fit::first || gap == item.size.count) return {top};
        best_gap = gap;
        best = top;
      }
      top = std::max(top, placed.top);
    }
  }
  return {best_gap == std::numeric_limits<std::uint64_t>::max() ? top : best};
}

void PackedItems::add(const PackItem& item, Bytes offset) {
  const Placed placed{offset.count, offset.count + item.size.count, item.begin, item.end};
  for (Level& level : levels_) {
    for (std::uint32_t at = level.first(item); at <= level.last(item); ++at) level.windows[at].insert(placed);
  }
}

}  // namespace quarry::tools
