// The oracle itself against the answers of the real allocator (tests/data/conformance): what judges others must be
// right first. Addresses, driver calls, counters and layouts, after every operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/oracle.h"
#include "tools/cases/case.h"

namespace quarry::oracle {
namespace {

using tools::Answer;

constexpr std::uint64_t kPage = 2ull << 20;

// `[64:8,256:4,>:1]`
Roundup roundup_of(const std::string& value) {
  if (!value.starts_with('[')) return {.all = static_cast<std::uint32_t>(std::stoul(value))};
  Roundup roundup;
  std::stringstream list(value.substr(1, value.size() - 2));
  for (std::string entry; std::getline(list, entry, ',');) {
    const std::size_t colon = entry.find(':');
    const std::uint64_t mib = entry.starts_with('>') ? 0 : std::stoull(entry);
    roundup.list.emplace_back(mib, static_cast<std::uint32_t>(std::stoul(entry.substr(colon + 1))));
  }
  return roundup;
}

// The entries of an option string; a comma inside a list ends none.
std::vector<std::string> entries_of(const std::string& config) {
  std::vector<std::string> entries;
  int depth = 0;
  bool open = false;
  for (const char c : config) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      open = false;
      continue;
    }
    if (!open) entries.emplace_back();
    entries.back() += c;
    open = true;
  }
  return entries;
}

// The keys that the oracle knows; no value for a string with anything else.
std::optional<Settings> settings_of(const std::string& config) {
  Settings settings;
  for (const std::string& entry : entries_of(config)) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos) return std::nullopt;
    const std::string key = entry.substr(0, colon);
    const std::string value = entry.substr(colon + 1);
    const auto is_number = [](char c) { return c >= '0' && c <= '9'; };
    if (value.empty() || (value.front() != '[' && !std::ranges::all_of(value, is_number))) return std::nullopt;
    if (key == "roundup_power2_divisions") {
      settings.roundup = roundup_of(value);
      continue;
    }
    const auto field = key == "large_segment_size_mb"       ? &Settings::large_segment_mib
                       : key == "max_split_size_mb"         ? &Settings::max_split_mib
                       : key == "max_non_split_rounding_mb" ? &Settings::max_non_split_rounding_mib
                                                            : nullptr;
    if (field == nullptr || value.front() == '[') return std::nullopt;
    settings.*field = std::stoull(value);
  }
  return settings;
}

// The recorded operation in the oracle's terms: none for a question, no value for what the oracle does not model.
class Translator {
 public:
  using Answer = std::optional<std::vector<Operation>>;

  Answer operator()(const tools::op::Alloc& op) {
    if (op.size >= Bytes{1ull << 60}) return std::nullopt;  // plain pointers have no cap
    return {{Allocate{ids_[op.id] = next_++, op.size.count, op.stream}}};
  }
  Answer operator()(const tools::op::Allocate& op) { return {{Allocate{ids_[op.id] = next_++, op.size.count}}}; }
  Answer operator()(const tools::op::Free& op) { return {{Free{ids_[op.id]}}}; }
  Answer operator()(const tools::op::EmptyCache&) { return {{EmptyCache{}}}; }
  Answer operator()(const tools::op::ResetPeak&) { return {{ResetPeak{}}}; }
  Answer operator()(const tools::op::ResetAccumulated&) { return {{ResetAccumulated{}}}; }
  Answer operator()(const tools::op::SetFraction& op) { return {{SetFraction{op.fraction}}}; }
  Answer operator()(const tools::op::SetCapacity& op) { return {{SetCapacity{op.capacity.count}}}; }
  Answer operator()(const tools::op::SetContext& op) { return {{SetOutside{op.used.count}}}; }
  Answer operator()(const tools::op::Settings& op) {
    const std::optional<Settings> settings = settings_of(op.text);
    if (!settings) return std::nullopt;
    return {{Configure{*settings}}};
  }
  Answer operator()(const tools::op::Fail& op) {
    if (op.call != "cudaMalloc") return std::nullopt;
    return {{FailSegment{op.nth}}};
  }
  Answer operator()(const tools::op::GetFraction&) { return Answer(std::in_place); }
  Answer operator()(const tools::op::Largest&) { return Answer(std::in_place); }
  Answer operator()(const tools::op::Base&) { return Answer(std::in_place); }
  Answer operator()(const tools::op::Check&) { return Answer(std::in_place); }
  template <class Other>
  Answer operator()(const Other&) {
    return std::nullopt;
  }

 private:
  std::map<std::string, std::uint32_t> ids_;
  std::uint32_t next_ = 1;
};

// One recorded case on the oracle, compared after every operation.
class Recorded {
 public:
  explicit Recorded(const tools::Case& recorded) : case_(recorded), oracle_(start(recorded)) {}

  static bool modelled(const tools::Case& recorded) {
    if (recorded.refused_at_load || !settings_of(recorded.config)) return false;
    Translator translate;
    return std::ranges::all_of(recorded.steps, [&](const tools::Step& step) {
      const bool refused_setting = std::holds_alternative<tools::op::Settings>(step.operation) && step.answer->error;
      return !refused_setting && std::visit(translate, step.operation).has_value();
    });
  }

  void run() {
    Translator translate;
    for (const tools::Step& step : case_.steps) {
      SCOPED_TRACE(case_.file + ": " + case_.name + ": " + step.text);
      const Answer& answer = *step.answer;
      const Translator::Answer operations = std::visit(translate, step.operation);
      for (const Operation& operation : *operations) compare(oracle_.apply(operation), answer);
      for (const auto& [name, value] : answer.stats) compare(name, value);
      if (answer.layout) compare(*answer.layout);
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  static Start start(const tools::Case& recorded) {
    Start start;
    start.settings = *settings_of(recorded.config);
    start.capacity = recorded.capacity.count;
    start.outside = recorded.context.count;
    return start;
  }

  static void compare(const Outcome& outcome, const Answer& answer) {
    EXPECT_EQ(outcome.kind == Kind::out_of_memory, answer.error.has_value());
    EXPECT_EQ(outcome.kind == Kind::null, answer.null);
    EXPECT_TRUE(!answer.skip || outcome.kind == Kind::skipped);  // there the free of a null block is not skipped
    if (answer.at && answer.at->size) {
      EXPECT_EQ((std::array{outcome.segment, outcome.offset, outcome.size}),
                (std::array{answer.at->segment, answer.at->offset, *answer.at->size}));
    }
    std::vector<std::string> calls;
    for (const SegmentCall& call : outcome.calls) {
      const std::uint64_t held = (call.size + kPage - 1) / kPage * kPage;  // what that device printed at a give-back
      calls.push_back(call.get ? "cudaMalloc " + std::to_string(call.size) + (call.ok ? " ok" : " oom")
                               : "cudaFree " + std::to_string(held));
    }
    EXPECT_EQ(calls, answer.calls);
  }

  void compare(const std::string& name, const tools::StatValue& value) {
    if (const auto* row = std::get_if<Row>(&value)) {
      const auto found = oracle_.rows().find(name);
      EXPECT_EQ(found == oracle_.rows().end() ? Row{} : found->second, *row) << name;
    } else if (name != "max_split_size") {
      EXPECT_EQ(static_cast<std::int64_t>(oracle_.tally(name)), std::get<std::int64_t>(value)) << name;
    }
  }

  void compare(const tools::RecordedLayout& layout) {
    std::vector<std::array<std::uint64_t, 5>> recorded, modelled;
    for (const tools::RecordedSegment& segment : layout) {
      for (const tools::RecordedBlock& block : segment.blocks) {
        const bool live = block.state == 'A';
        recorded.push_back(
            {segment.segment, segment.offset + block.offset, block.size, live ? block.requested : 0, live});
      }
    }
    for (const LayoutRow& row : oracle_.layout()) {
      modelled.push_back({row.segment, row.offset, row.size, row.requested, row.live});
    }
    std::sort(recorded.begin(), recorded.end());
    EXPECT_EQ(modelled, recorded);
  }

  const tools::Case& case_;
  Oracle oracle_;
};

TEST(PropertyOracle, GivesTheRecordedAnswers) {
  std::size_t cases = 0, operations = 0;
  const std::filesystem::path folder = std::filesystem::path(QUARRY_TEST_DATA) / "conformance";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with("host") || file.starts_with("bug_cases")) continue;
    const auto recorded = tools::read_cases(entry.path().string());
    ASSERT_TRUE(recorded) << recorded.error().message;
    for (const tools::Case& one : *recorded) {
      if (!Recorded::modelled(one)) continue;
      ++cases;
      operations += one.steps.size();
      Recorded(one).run();
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(cases, 80u);
  EXPECT_GE(operations, 40'000u);
}

}  // namespace
}  // namespace quarry::oracle
