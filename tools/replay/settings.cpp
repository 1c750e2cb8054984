#include "tools/replay/settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include <fmt/format.h>

namespace quarry::tools {
namespace {

// Keys of a recorded option string that decide addresses and are applied as they stand. tie_break is only in our own.
constexpr std::array<std::string_view, 6> kApplied = {"expandable_segments",       "large_segment_size_mb",
                                                      "max_non_split_rounding_mb", "max_split_size_mb",
                                                      "roundup_power2_divisions",  "tie_break"};

std::size_t index_of(std::string_view key) {
  const auto table = option_table();
  return static_cast<std::size_t>(std::ranges::find(table, key, &OptionInfo::key) - table.begin());
}

void mark(Options& options, std::string_view key, Origin origin) {
  const std::size_t index = index_of(key);
  if (index < options.origins.size()) options.origins[index] = origin;
}

// Splits at commas outside of brackets, and drops white space.
std::vector<std::string> split_conf(std::string_view conf) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : conf) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::erase(parts, "");
  return parts;
}

void apply_conf(std::string_view conf, RecordedSettings& into) {
  for (const std::string& part : split_conf(conf)) {
    const std::string key = part.substr(0, part.find(':'));
    if (std::ranges::find(kApplied, key) == kApplied.end()) {
      into.notes.push_back(fmt::format("recorded with {}, which replay does not apply", part));
    } else if (Result<Options> parsed = parse_options(part, into.options, Origin::file); parsed) {
      into.options = *parsed;
    } else {
      into.notes.push_back(fmt::format("recorded option {} is not applied: {}", part, parsed.error().message));
    }
  }
}

// What was in force when the file was written; it wins over the option string.
void apply_effective(const stats::TraceSettings& settings, RecordedSettings& into) {
  if (settings.max_split_size > 0) {
    into.options.max_split_size = {static_cast<std::uint64_t>(settings.max_split_size)};
    mark(into.options, "max_split_size_mb", Origin::file);
  }
  for (const auto& [interval_mib, divisions] : settings.roundup_power2_divisions) {
    if (!std::has_single_bit(interval_mib) || divisions > 1u << 20 ||
        (divisions != 0 && !std::has_single_bit(divisions))) {
      into.notes.push_back(fmt::format("recorded roundup_power2_divisions {}:{} is not applied: not powers of two",
                                       interval_mib, divisions));
      continue;
    }
    const auto interval = static_cast<std::size_t>(std::countr_zero(interval_mib));
    if (interval >= into.options.roundup_power2_divisions.size()) continue;
    into.options.roundup_power2_divisions[interval] = static_cast<std::uint32_t>(divisions);
    if (divisions != 0) mark(into.options, "roundup_power2_divisions", Origin::file);
  }
}

}  // namespace

RecordedSettings recorded_settings(const stats::TraceSettings& settings) {
  RecordedSettings recorded;
  recorded.options.policy = Policy::pytorch;
  apply_conf(settings.conf, recorded);
  apply_effective(settings, recorded);
  recorded.options.expandable_segments = recorded.options.expandable_segments || settings.expandable_segments;
  if (recorded.options.expandable_segments) mark(recorded.options, "expandable_segments", Origin::file);
  return recorded;
}

Options without_limits(Options options, std::vector<std::string>& notes) {
  const Options defaults;
  const auto off = [&](std::string_view key) {
    notes.push_back(fmt::format("{} is not applied: replay has no limit on memory", key));
    mark(options, key, Origin::default_value);
  };
  if (options.memory_limit != defaults.memory_limit) {
    options.memory_limit = defaults.memory_limit;
    off("memory_limit_mb");
  }
  if (options.per_process_memory_fraction < 1.0) {
    options.per_process_memory_fraction = 1.0;
    off("per_process_memory_fraction");
  }
  if (options.garbage_collection_threshold > 0) {
    options.garbage_collection_threshold = 0;
    off("garbage_collection_threshold");
  }
  if (options.throw_on_cudamalloc_oom) {
    options.throw_on_cudamalloc_oom = false;
    off("throw_on_cudamalloc_oom");
  }
  return options;
}

Origin origin_of(const Options& options, std::string_view key) {
  const std::size_t index = index_of(key);
  return index < option_table().size() ? options.origins[index] : Origin::default_value;
}

}  // namespace quarry::tools
