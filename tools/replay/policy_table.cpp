#include "tools/replay/policy_table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace quarry::tools {
namespace {

Options pytorch(Options base) {
  base.policy = Policy::pytorch;
  return base;
}

Options pytorch_expandable(Options base) {
  base.policy = Policy::pytorch;
  base.expandable_segments = true;
  return base;
}

Options pytorch_max_split(Options base) {
  base.policy = Policy::pytorch;
  base.max_split_size = Bytes{128ull << 20};
  return base;
}

Options pytorch_roundup(Options base) {
  base.policy = Policy::pytorch;
  base.roundup_power2_divisions.fill(8);
  return base;
}

Options paged(Options base) {
  base.policy = Policy::paged;
  return base;
}

Options paged_tight(Options base) {
  base.policy = Policy::paged;
  base.placement = PlacementRule::tight;
  return base;
}

Options paged_fast(Options base) {
  base.policy = Policy::paged;
  base.placement = PlacementRule::fast;
  return base;
}

constexpr std::array kPolicies = {
    PolicyEntry{"pytorch", PolicyKind::allocator, pytorch, "PyTorch's, with the settings of the recording"},
    PolicyEntry{"pytorch+expandable", PolicyKind::allocator, pytorch_expandable, "... and expandable segments"},
    PolicyEntry{"pytorch+max_split", PolicyKind::allocator, pytorch_max_split, "... and max_split_size_mb:128"},
    PolicyEntry{"pytorch+roundup", PolicyKind::allocator, pytorch_roundup, "... and roundup_power2_divisions:8"},
    PolicyEntry{"exact-size", PolicyKind::exact_size, nullptr, "a cache of segments by exact size and stream"},
    PolicyEntry{"bins", PolicyKind::bins, nullptr, "a cache of segments in powers of two, as CUB's"},
    PolicyEntry{"paged", PolicyKind::allocator, paged, "ours, with its default placement"},
    PolicyEntry{"paged+tight", PolicyKind::allocator, paged_tight, "... for least memory"},
    PolicyEntry{"paged+fast", PolicyKind::allocator, paged_fast, "... for least time"},
    PolicyEntry{"packed", PolicyKind::packed, nullptr, "offline: the best contiguous packing found in seconds"},
    PolicyEntry{"bound", PolicyKind::bound, nullptr, "peak requested: nothing reserves less"},
};

}  // namespace

std::span<const PolicyEntry> policy_table() { return kPolicies; }

const PolicyEntry* find_policy(std::string_view key) {
  const auto found = std::ranges::find(kPolicies, key, &PolicyEntry::key);
  return found == kPolicies.end() ? nullptr : &*found;
}

Result<std::vector<const PolicyEntry*>> parse_policies(std::string_view list) {
  std::vector<const PolicyEntry*> policies;
  if (list == "all") {
    for (const PolicyEntry& policy : kPolicies) policies.push_back(&policy);
    return policies;
  }
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    const std::string_view key = list.substr(0, comma);
    more = comma != list.npos;
    list.remove_prefix(more ? comma + 1 : list.size());
    const PolicyEntry* const policy = find_policy(key);
    if (policy == nullptr) {
      std::string known = "all";
      for (const PolicyEntry& each : kPolicies) known += fmt::format(", {}", each.key);
      return Error{ErrorCode::invalid, fmt::format("no policy is called '{}'; there are {}", key, known)};
    }
    if (std::ranges::find(policies, policy) == policies.end()) policies.push_back(policy);
  }
  return policies;
}

}  // namespace quarry::tools
