#include "tools/replay/pack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <quarry/allocator/check.h>
#include <quarry/allocator/sim/address_layout.h>
#include "tools/replay/online_fit.h"
#include "tools/replay/packed_items.h"

namespace quarry::tools {
namespace {

using Clock = std::chrono::steady_clock;

Bytes rounded(Bytes size) {
  const std::optional<Bytes> rounded = sim::round_up(size, Bytes{512});
  QUARRY_CHECK(rounded.has_value(), "a size that can be packed");
  return *rounded;
}

// Blocks to items, in one walk.
class ItemWalk {
 public:
  explicit ItemWalk(const Workload& workload) : open_(workload.slots, kNone) {
    for (const WorkStep& step : workload.start) walk(step);
    for (const WorkStep& step : workload.window) walk(step);
    for (PackItem& item : items_) item.end = std::min(item.end, round_ + 1);
  }
  std::vector<PackItem> take() { return std::move(items_); }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // A round is a run of requests and the frees after it: what lives in it lives at the same time.
  void walk(const WorkStep& step) {
    if (step.kind == WorkKind::allocate) {
      if (std::exchange(freed_, false)) ++round_;
      open_[step.slot] = step.size == Bytes{} ? kNone : static_cast<std::uint32_t>(items_.size());
      if (step.size > Bytes{}) items_.push_back({round_, kNone, rounded(step.size)});
    } else if (step.kind == WorkKind::free || step.kind == WorkKind::complete_free) {
      freed_ = true;
      if (open_[step.slot] != kNone) items_[open_[step.slot]].end = round_ + 1;
    }
  }

  std::vector<PackItem> items_;
  std::vector<std::uint32_t> open_;  // by slot
  std::uint32_t round_ = 0;
  bool freed_ = false;
};

struct Order {
  std::string_view name;
  // The higher key goes first; of equal ones what begins earlier.
  std::pair<std::uint64_t, std::uint64_t> (*key)(const PackItem& item);
};

std::uint64_t life(const PackItem& item) { return item.end - item.begin; }
std::uint64_t log2_of(std::uint64_t n) { return static_cast<std::uint64_t>(std::bit_width(n)); }

constexpr std::array<Order, 7> kOrders = {{
    {"size",
     [](const PackItem& item) {
       return std::pair{item.size.count, life(item)};
     }},
    {"area",
     [](const PackItem& item) {
       return std::pair{item.size.count / 512 * life(item), item.size.count};
     }},
    {"life time",
     [](const PackItem& item) {
       return std::pair{life(item), item.size.count};
     }},
    {"log life time then size",
     [](const PackItem& item) {
       return std::pair{log2_of(life(item)), item.size.count};
     }},
    {"log size then life time",
     [](const PackItem& item) {
       return std::pair{log2_of(item.size.count), life(item)};
     }},
    {"begin",
     [](const PackItem& item) {
       return std::pair{~std::uint64_t{item.begin}, item.size.count};
     }},
    {"end",
     [](const PackItem& item) {
       return std::pair{std::uint64_t{item.end}, item.size.count};
     }},
}};

Bytes most_at_once(const std::vector<PackItem>& items, std::uint32_t time) {
  std::vector<std::uint64_t> change(time + 1);
  for (const PackItem& item : items) {
    change[item.begin] += item.size.count;
    change[item.end] -= item.size.count;
  }
  std::uint64_t live = 0;
  std::uint64_t most = 0;
  for (const std::uint64_t step : change) most = std::max(most, live += step);
  return {most};
}

// The height of one greedy packing; nothing where it cannot get below `limit`, or the time is over.
std::optional<Bytes> height_of(std::span<const PackItem> ordered, std::uint32_t time, Fit fit, Bytes limit,
                               Clock::time_point deadline) {
  PackedItems packed(ordered, time);
  Bytes height;
  std::uint32_t placed = 0;
  for (const PackItem& item : ordered) {
    if (++placed % 256 == 0 && Clock::now() >= deadline) return std::nullopt;
    const Bytes at = packed.find(item, fit);
    height = std::max(height, at + item.size);
    if (height >= limit) return std::nullopt;
    packed.add(item, at);
  }
  return height;
}

}  // namespace

std::vector<PackItem> pack_items(const Workload& workload) { return ItemWalk(workload).take(); }

Packing pack(std::vector<PackItem> items, std::chrono::milliseconds budget) {
  const Clock::time_point deadline = Clock::now() + budget;
  std::uint32_t time = 0;
  for (const PackItem& item : items) time = std::max(time, item.end);
  Packing best;
  best.bound = most_at_once(items, time);
  std::ranges::stable_sort(items, {}, &PackItem::begin);
  // What lives all the time lies at the bottom of some best packing, and the rest need not know.
  Bytes base;
  std::erase_if(items, [&](const PackItem& item) {
    const bool always = item.begin == 0 && item.end == time;
    if (always) base += item.size;
    return always;
  });
  best.method = items.empty() ? "nothing to choose" : "best fit in the order of time";
  Bytes lowest = online_best_fit(items);
  for (const Fit fit : {Fit::first, Fit::best}) {
    for (const Order& order : kOrders) {
      if (base + lowest == best.bound || Clock::now() >= deadline) break;
      std::vector<PackItem> ordered = items;
      std::ranges::stable_sort(ordered, std::ranges::greater{}, order.key);
      ++best.tried;
      const std::optional<Bytes> height = height_of(ordered, time, fit, lowest, deadline);
      if (!height) continue;
      lowest = *height;
      best.method = fmt::format("{} fit by {}", fit == Fit::first ? "first" : "best", order.name);
    }
  }
  best.height = base + lowest;
  return best;
}

}  // namespace quarry::tools
