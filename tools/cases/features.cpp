// What a case may need that is not built yet: one row each. A row goes when its engine comes.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "tools/cases/run.h"
#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

template <class... Kinds>
bool has_operation(const Case& one) {
  return std::ranges::any_of(one.steps,
                             [](const Step& step) { return (std::holds_alternative<Kinds>(step.operation) || ...); });
}

// The value of `key` in an option string; the last one, as the allocator reads it.
std::optional<std::string_view> option_value(std::string_view text, std::string_view key) {
  std::optional<std::string_view> value;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t colon = pair.find(':');
    if (colon != std::string_view::npos && trim(pair.substr(0, colon)) == key) value = trim(pair.substr(colon + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return value;
}

// Option strings count only where they were accepted when the case was recorded: refused ones must fail here too.
template <class Predicate>
bool any_accepted_option(const Case& one, std::string_view key, Predicate&& wanted) {
  const auto sets = [&](std::string_view text) {
    const auto value = option_value(text, key);
    return value && wanted(*value);
  };
  if (!one.refused_at_load && sets(one.config)) return true;
  return std::ranges::any_of(one.steps, [&](const Step& step) {
    const auto* settings = std::get_if<op::Settings>(&step.operation);
    return settings && !(step.answer && step.answer->error) && sets(settings->text);
  });
}

bool turns_on(const Case& one, std::string_view key) {
  return any_accepted_option(one, key, [](std::string_view value) { return value == "True"; });
}

// A `record` of a name that holds a block; of a null block or of none it does nothing.
bool records_a_block(const Case& one) {
  std::set<std::string_view> blocks;
  for (const Step& step : one.steps) {
    const bool failed = step.answer && step.answer->error;
    if (const auto* alloc = std::get_if<op::Alloc>(&step.operation); alloc && alloc->size.count > 0 && !failed) {
      blocks.insert(alloc->id);
    }
    if (const auto* alloc = std::get_if<op::Allocate>(&step.operation); alloc && alloc->size.count > 0 && !failed) {
      blocks.insert(alloc->id);
    }
    if (const auto* view = std::get_if<op::View>(&step.operation); view && blocks.contains(view->of))
      blocks.insert(view->id);
    if (const auto* free = std::get_if<op::Free>(&step.operation)) blocks.erase(free->id);
    if (const auto* record = std::get_if<op::Record>(&step.operation); record && blocks.contains(record->id))
      return true;
  }
  return false;
}

bool fails_mapping_call(const Case& one) {
  return std::ranges::any_of(one.steps, [](const Step& step) {
    const auto* fail = std::get_if<op::Fail>(&step.operation);
    return fail && fail->call.starts_with("cuMem");
  });
}

struct Feature {
  std::string_view reason;
  bool (*needed)(const Case&);
};

constexpr auto kMissing = std::to_array<Feature>({
    {"needs the pinned host allocator (part 4)", [](const Case& c) { return has_operation<op::Host>(c); }},
    {"needs expandable_segments",
     [](const Case& c) { return turns_on(c, "expandable_segments") || fails_mapping_call(c); }},
    {"needs checkpoints of a pool", [](const Case& c) { return has_operation<op::Checkpoint, op::Restore>(c); }},
    {"needs graph capture", [](const Case& c) { return has_operation<op::Capture>(c); }},
    {"needs private pools", [](const Case& c) { return has_operation<op::Pool, op::EmptyPool>(c); }},
    {"needs blocks used by several streams",
     [](const Case& c) { return has_operation<op::StreamControl>(c) || records_a_block(c); }},
    {"needs garbage_collection_threshold",
     [](const Case& c) { return any_accepted_option(c, "garbage_collection_threshold", [](auto) { return true; }); }},
    {"needs throw_on_cudamalloc_oom", [](const Case& c) { return turns_on(c, "throw_on_cudamalloc_oom"); }},
    {"needs release_lock_on_cudamalloc", [](const Case& c) { return turns_on(c, "release_lock_on_cudamalloc"); }},
    {"needs graph_capture_record_stream_reuse",
     [](const Case& c) { return turns_on(c, "graph_capture_record_stream_reuse"); }},
});

}  // namespace

std::string_view missing_feature(const Case& one) {
  const auto row = std::ranges::find_if(kMissing, [&](const Feature& feature) { return feature.needed(one); });
  return row == kMissing.end() ? std::string_view{} : row->reason;
}

}  // namespace quarry::tools
