#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

TEST(CaseFeatures, WhatIsNotBuiltIsSkippedBeforeItStarts) {
  struct Row {
    std::string_view text;
    std::string_view reason;
  };
  for (const Row& row : {Row{"halloc a 5", "needs the pinned host allocator (part 4)"},
                         {"checkpoint k 1", "needs checkpoints of a pool"},
                         {"restore k", "needs checkpoints of a pool"}}) {
    const CaseResult result = run_case(script(std::string(row.text) + "\nalloc last 5\nexpect oom"));  // fails if run
    EXPECT_EQ(result.outcome, CaseOutcome::skip) << row.text;
    EXPECT_EQ(result.reason, row.reason) << row.text;
  }
}

TEST(CaseFeatures, StreamsPoolsAndCapturesRun) {
  for (const std::string_view text : {"alloc z 0\nrecord z 1\nfree z", "alloc a 5\nfree a\nrecord a 1", "record a 1",
                                      "config expandable_segments:False\nalloc a 5", "alloc a 5 3\nalloc b 5 2",
                                      "alloc a 5\nview v a\nfree a\nrecord v 1\nfree v", "hold 1",
                                      "pool_create 1\npool_begin 1\nalloc a 5\npool_end 1\npool_release 1"}) {
    EXPECT_EQ(run_case(script(text)).outcome, CaseOutcome::pass) << text;
  }
}

// A string that PyTorch refused and one that it took are both run.
TEST(CaseFeatures, OptionStringsAreRun) {
  const auto with = [](const std::string& text, const std::string& error) {
    return R"({"cases": [{"name": "n", "ops": [{"op": "settings )" + text + "\"" + error + "}]}]}";
  };
  const auto outcome = [](const std::string& document) {
    const auto cases = parse_recording(document, "f.json");
    return cases ? run_case(cases->front()).outcome : CaseOutcome::skip;
  };
  const std::string refused = R"(, "error": "ValueError")";
  EXPECT_EQ(outcome(with("expandable_segments:True", "")), CaseOutcome::pass);
  EXPECT_EQ(outcome(with("expandable_segments:True,foo:1", refused)), CaseOutcome::pass);
  EXPECT_EQ(outcome(with("expandable_segments:True,foo:1", "")), CaseOutcome::fail);
  EXPECT_EQ(outcome(with("expandable_segments:True", refused)), CaseOutcome::fail);
}

}  // namespace
}  // namespace quarry::tools
