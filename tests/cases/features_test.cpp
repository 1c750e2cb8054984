#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

TEST(CaseFeatures, WhatIsNotBuiltIsSkippedBeforeItStarts) {
  struct Row {
    std::string_view text;
    std::string_view reason;
  };
  for (const Row& row :
       {Row{"halloc a 5", "needs the pinned host allocator (part 4)"},
        {"config expandable_segments:True\ncheck", "needs expandable_segments"},
        {"config max_split_size_mb:20, expandable_segments : True\ncheck", "needs expandable_segments"},
        {"settings expandable_segments:True", "needs expandable_segments"},
        {"fail cuMemMap 1", "needs expandable_segments"},
        {"checkpoint k 1", "needs checkpoints of a pool"},
        {"capture_begin 1", "needs graph capture"},
        {"pool_create 1", "needs private pools"},
        {"empty_pool 1", "needs private pools"},
        {"hold 1", "needs blocks used by several streams"},
        {"alloc a 5\nrecord a 1", "needs blocks used by several streams"},
        {"alloc a 5\nview v a\nfree a\nrecord v 1", "needs blocks used by several streams"},
        {"config garbage_collection_threshold:0.5\ncheck", "needs garbage_collection_threshold"},
        {"config throw_on_cudamalloc_oom:True\ncheck", "needs throw_on_cudamalloc_oom"},
        {"settings release_lock_on_cudamalloc:True", "needs release_lock_on_cudamalloc"},
        {"settings graph_capture_record_stream_reuse:True", "needs graph_capture_record_stream_reuse"}}) {
    const CaseResult result = run_case(script(std::string(row.text) + "\nalloc last 5\nexpect oom"));  // fails if run
    EXPECT_EQ(result.outcome, CaseOutcome::skip) << row.text;
    EXPECT_EQ(result.reason, row.reason) << row.text;
  }
}

TEST(CaseFeatures, WhatDoesNothingRuns) {
  for (const std::string_view text : {"alloc z 0\nrecord z 1\nfree z", "alloc a 5\nfree a\nrecord a 1", "record a 1",
                                      "config expandable_segments:False\nalloc a 5", "alloc a 5 3\nalloc b 5 2"}) {
    EXPECT_EQ(run_case(script(text)).outcome, CaseOutcome::pass) << text;
  }
}

TEST(CaseFeatures, StringsThatWereRefusedDoNotCount) {
  const auto with = [](const std::string& error) {
    return R"({"cases": [{"name": "n", "ops": [{"op": "settings expandable_segments:True,foo:1")" + error + "}]}]}";
  };
  const auto accepted = parse_recording(with(""), "f.json");
  ASSERT_TRUE(accepted);
  EXPECT_EQ(run_case(accepted->front()).outcome, CaseOutcome::skip);
  const auto refused = parse_recording(with(R"(, "error": "ValueError")"), "f.json");
  ASSERT_TRUE(refused);
  EXPECT_EQ(run_case(refused->front()).outcome, CaseOutcome::pass);
}

}  // namespace
}  // namespace quarry::tools
