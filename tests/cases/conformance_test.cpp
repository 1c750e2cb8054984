// The recorded answers of PyTorch's allocator and the scripts of the bug reports, all of them, step by step.
#include <filesystem>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

// How many cases of a file run and agree, differ as known, or wait for what is not built yet.
struct Tally {
  std::string file;
  int pass;
  int known;
  int skip;
};

const Tally kRecorded[] = {
    {"bug_cases", 21, 0, 0},
    {"checkpoint", 0, 0, 7},
    {"config", 1, 2, 0},
    {"empty_cache", 3, 0, 0},
    {"expandable", 23, 2, 0},
    {"fraction", 5, 0, 0},
    {"gc", 5, 0, 0},
    {"host", 0, 0, 20},
    {"max_split", 10, 0, 0},
    {"oom", 12, 0, 0},
    {"pools", 20, 0, 0},
    {"queries", 2, 0, 0},
    {"resets", 3, 0, 0},
    {"rounding", 21, 0, 0},
    {"split", 27, 0, 0},
    {"streams", 15, 0, 0},
    {"stress_default", 4, 0, 0},
    {"stress_expandable", 4, 0, 0},
    {"stress_expandable_tight_streams", 4, 0, 0},
    {"stress_gc_fraction", 4, 0, 0},
    {"stress_max_split_64", 4, 0, 0},
    {"stress_repeat_sizes", 4, 0, 0},
    {"stress_roundup_4", 4, 0, 0},
    {"stress_streams", 3, 1, 0},
    {"stress_tight_oom", 4, 0, 0},
};

void PrintTo(const Tally& tally, std::ostream* out) { *out << tally.file; }

std::string describe(const CaseResult& result) {
  if (!result.failure) return {};
  const Difference& d = *result.failure;
  return result.file + " " + result.name + " step " + (d.step ? std::to_string(*d.step) : "load") + " (" + d.step_text +
         ") " + d.key + ": expected " + d.expected + ", got " + d.got;
}

class Conformance : public testing::TestWithParam<Tally> {};

TEST_P(Conformance, StepByStep) {
  const auto cases = read_cases(data_path("conformance/" + GetParam().file + ".json.gz"));
  ASSERT_TRUE(cases) << cases.error().message;
  const auto known = read_known(data_path("known_differences.txt"));
  ASSERT_TRUE(known) << known.error().message;
  std::vector<CaseResult> results;
  std::array<int, 4> counts{};
  std::set<std::string> reasons;
  for (const Case& one : *cases) {
    results.push_back(run_case(one, *known));
    const CaseResult& result = results.back();
    EXPECT_NE(result.outcome, CaseOutcome::fail) << describe(result);
    ++counts[static_cast<std::size_t>(result.outcome)];
    if (result.outcome == CaseOutcome::skip) reasons.insert(result.reason);
  }
  EXPECT_EQ(counts[0], GetParam().pass);
  EXPECT_EQ(counts[3], GetParam().known);
  EXPECT_EQ(counts[2], GetParam().skip);
  for (const KnownDifference& entry : unused_known(*known, results)) {
    ADD_FAILURE() << "known_differences.txt line " << entry.line << " was not seen";
  }
  if (counts[0] + counts[1] + counts[3] > 0) return;
  std::string all;
  for (const std::string& reason : reasons) all += (all.empty() ? "" : "; ") + reason;
  GTEST_SKIP() << all;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Conformance, testing::ValuesIn(kRecorded),
                         [](const auto& instance) { return instance.param.file; });

TEST(ConformanceFiles, NoneIsLeftOut) {
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("conformance"))) {
    there.insert(entry.path().filename().string());
  }
  std::set<std::string> listed;
  for (const Tally& tally : kRecorded) listed.insert(tally.file + ".json.gz");
  EXPECT_EQ(there, listed);
}

constexpr const char* kScripts[] = {"BR-01", "BR-01b", "BR-02", "BR-03", "BR-04", "BR-13", "BR-15",
                                    "BR-16", "BR-28",  "BR-29", "BR-30", "BR-31", "BR-33", "BR-35",
                                    "BR-39", "BR-39b", "BR-42", "BR-43", "BR-50", "BR-51", "BR-52"};

class BugCase : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(BugCase, Expectations) {
  const auto& [file, policy] = GetParam();
  const auto cases = read_cases(data_path(std::string("ops/") + file + ".ops"));
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 1u);
  const Result<Options> options = case_options(policy);
  ASSERT_TRUE(options) << options.error().message;
  const CaseResult result = run_case(cases->front(), {}, plain_sim_backend, *options);
  EXPECT_EQ(result.outcome, CaseOutcome::pass) << describe(result) << result.reason;
}

INSTANTIATE_TEST_SUITE_P(Scripts, BugCase,
                         testing::Combine(testing::ValuesIn(kScripts),
                                          testing::Values("pytorch", "paged+tight", "paged+fast")),
                         [](const auto& instance) {
                           std::string name =
                               std::string(std::get<0>(instance.param)) + "_" + std::get<1>(instance.param);
                           std::erase(name, '-');
                           std::ranges::replace(name, '+', '_');
                           return name;
                         });

TEST(BugCaseFiles, NoneIsLeftOut) {
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("ops"))) {
    there.insert(entry.path().stem().string());
  }
  EXPECT_EQ(there, std::set<std::string>(std::begin(kScripts), std::end(kScripts)));
}

}  // namespace
}  // namespace quarry::tools
