#include "tools/cases/case_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tools/cases/text.h"

namespace quarry::tools {

Result<Options> case_options(std::string_view policy) {
  constexpr std::array<std::string_view, 4> kPolicies = {"pytorch", "paged", "paged+tight", "paged+fast"};
  if (std::ranges::find(kPolicies, policy) == kPolicies.end()) {
    return invalid(fmt::format("{}: cases run with pytorch, paged, paged+tight or paged+fast", quoted(policy)));
  }
  Options options;
  options.tie_break = TieBreak::segment;
  options.policy = policy == "pytorch" ? Policy::pytorch : Policy::paged;
  options.placement = policy == "paged+fast" ? PlacementRule::fast : PlacementRule::tight;
  return options;
}

}  // namespace quarry::tools
