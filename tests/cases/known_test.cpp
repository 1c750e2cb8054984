#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

KnownDifferences known(std::string_view text) {
  auto parsed = parse_known(text, "known.txt");
  if (parsed) return *std::move(parsed);
  ADD_FAILURE() << parsed.error().message;
  return {};
}

// The recorded case with two wrong numbers: a statistic at step 0, a value at step 3.
nlohmann::json with_two_differences() {
  auto one = recorded_case("queries", "base_and_largest");
  one["ops"][0]["stats"]["active.all"] = {1, 7, 1, 0};
  one["ops"][3]["value"] = 5;
  return one;
}

constexpr std::string_view kBoth =
    "# why\n\nqueries base_and_largest 0 stats.active.all a comment\nqueries base_and_largest 3 value\n";

TEST(KnownDifferences, AreListedAndTheCaseGoesOn) {
  const CaseResult result = run_recorded(with_two_differences(), "queries", known(kBoth));
  EXPECT_EQ(result.outcome, CaseOutcome::known);
  EXPECT_FALSE(result.failure);
  ASSERT_EQ(result.known.size(), 2u);
  EXPECT_EQ(result.known[0].step, 0u);
  EXPECT_EQ(result.known[0].key, "stats.active.all");
  EXPECT_EQ(result.known[0].expected, "[1, 7, 1, 0]");
  EXPECT_EQ(result.known[0].got, "[1, 1, 1, 0]");
  EXPECT_EQ(result.known[1].step, 3u);
  EXPECT_THAT(unused_known(known(kBoth), std::vector{result}), IsEmpty());
}

TEST(KnownDifferences, OtherDifferencesStillFail) {
  const auto only_first = known("queries base_and_largest 0 stats.active.all");
  const CaseResult result = run_recorded(with_two_differences(), "queries", only_first);
  ASSERT_EQ(result.outcome, CaseOutcome::fail);
  EXPECT_EQ(result.failure->step, 3u);
  EXPECT_EQ(result.known.size(), 1u);
  for (const std::string_view other :
       {"queries base_and_largest 1 stats.active.all", "queries other 0 stats.active.all",
        "other base_and_largest 0 stats.active.all", "queries base_and_largest 0 stats",
        "queries base_and_largest load stats.active.all"}) {
    EXPECT_EQ(run_recorded(with_two_differences(), "queries", known(other)).failure->step, 0u) << other;
  }
}

TEST(KnownDifferences, ARefusedConfigurationEndsTheCase) {
  const auto one = recorded_case("config", "garbage_after_value");
  EXPECT_EQ(run_recorded(one, "config").outcome, CaseOutcome::fail);
  const CaseResult result = run_recorded(one, "config", known("config garbage_after_value load refused_at_load"));
  EXPECT_EQ(result.outcome, CaseOutcome::known);
  ASSERT_EQ(result.known.size(), 1u);
  EXPECT_FALSE(result.known[0].step);
}

TEST(KnownDifferences, LinesThatAreNotSeenAreReported) {
  const auto lines = known("queries base_and_largest 0 at\nqueries not_run 0 at\nother base_and_largest 0 at\n");
  const CaseResult result = run_recorded(recorded_case("queries", "base_and_largest"), "queries", lines);
  EXPECT_EQ(result.outcome, CaseOutcome::pass);
  const auto unused = unused_known(lines, std::vector{result});
  ASSERT_EQ(unused.size(), 1u);
  EXPECT_EQ(unused[0].line, 1u);
}

TEST(KnownDifferences, ErrorsNameTheLine) {
  const auto message = [](std::string_view text) {
    const auto parsed = parse_known(text, "known.txt");
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(message("# fine\nfile case 1\n"), HasSubstr("known.txt: line 2: a known difference is"));
  EXPECT_THAT(message("file case one key"), HasSubstr("known.txt: line 1: 'one' is not the number of a step"));
  EXPECT_THAT(message("file case -1 key"), HasSubstr("'-1' is not the number of a step"));
  EXPECT_EQ(message(""), "accepted");
}

TEST(KnownDifferences, AMissingFileIsAnError) {
  EXPECT_FALSE(read_known(data_path("no_such_file.txt")));
  EXPECT_FALSE(read_cases(data_path("no_such_file.json")));
}

}  // namespace
}  // namespace quarry::tools
