#include "tools/replay/online_fit.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace quarry::tools {
namespace {

// Free ranges below `top`, merged; the range above is free too.
class Gaps {
 public:
  std::uint64_t take(std::uint64_t size) {
    const auto fit = by_size_.lower_bound({size, 0});
    if (fit == by_size_.end()) return take_end(size);
    const auto [found, bottom] = *fit;
    erase(gaps_.find(bottom));
    if (found > size) insert(bottom + size, found - size);
    return bottom;
  }

  void give_back(std::uint64_t bottom, std::uint64_t size) {
    auto next = gaps_.lower_bound(bottom);
    if (next != gaps_.end() && next->first == bottom + size) {
      size += next->second;
      next = erase(next);
    }
    if (next != gaps_.begin()) {
      const auto below = std::prev(next);
      if (below->first + below->second == bottom) {
        bottom = below->first;
        size += below->second;
        erase(below);
      }
    }
    insert(bottom, size);
  }

  std::uint64_t top() const { return top_; }

 private:
  using Iterator = std::map<std::uint64_t, std::uint64_t>::iterator;

  std::uint64_t take_end(std::uint64_t size) {
    std::uint64_t bottom = top_;
    if (!gaps_.empty()) {
      const auto last = std::prev(gaps_.end());
      if (last->first + last->second == top_) {
        bottom = last->first;
        erase(last);
      }
    }
    top_ = bottom + size;
    return bottom;
  }
  void insert(std::uint64_t bottom, std::uint64_t size) {
    gaps_.emplace(bottom, size);
    by_size_.emplace(size, bottom);
  }
  Iterator erase(Iterator gap) {
    by_size_.erase({gap->second, gap->first});
    return gaps_.erase(gap);
  }

  std::map<std::uint64_t, std::uint64_t> gaps_;  // bottom -> size
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
  std::uint64_t top_ = 0;
};

}  // namespace

Bytes online_best_fit(std::span<const PackItem> items) {
  std::vector<PackItem> ordered(items.begin(), items.end());
  std::ranges::stable_sort(ordered, {}, &PackItem::begin);
  using Live = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // end, bottom, size
  std::priority_queue<Live, std::vector<Live>, std::greater<>> live;
  Gaps gaps;
  for (const PackItem& item : ordered) {
    for (; !live.empty() && std::get<0>(live.top()) <= item.begin; live.pop()) {
      gaps.give_back(std::get<1>(live.top()), std::get<2>(live.top()));
    }
    live.emplace(item.end, gaps.take(item.size.count), item.size.count);
  }
  return {gaps.top()};
}

}  // namespace quarry::tools
