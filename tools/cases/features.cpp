// What a case may need that is not built yet: one row each. A row goes when its engine comes.
#include <algorithm>
#include <array>
#include <string_view>

#include "tools/cases/run.h"

namespace quarry::tools {
namespace {

template <class... Kinds>
bool has_operation(const Case& one) {
  return std::ranges::any_of(one.steps,
                             [](const Step& step) { return (std::holds_alternative<Kinds>(step.operation) || ...); });
}

struct Feature {
  std::string_view reason;
  bool (*needed)(const Case&);
};

constexpr auto kMissing = std::to_array<Feature>({
    {"needs the pinned host allocator (part 4)", [](const Case& c) { return has_operation<op::Host>(c); }},
    {"needs checkpoints of a pool", [](const Case& c) { return has_operation<op::Checkpoint, op::Restore>(c); }},
});

}  // namespace

std::string_view missing_feature(const Case& one) {
  const auto row = std::ranges::find_if(kMissing, [&](const Feature& feature) { return feature.needed(one); });
  return row == kMissing.end() ? std::string_view{} : row->reason;
}

}  // namespace quarry::tools
