// The rules by which `expect` lines judge the policy paged (reference/bug_cases.md section 1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

using testing::HasSubstr;

CaseResult run_paged(std::string_view text) {
  return run_case(script(text), {}, plain_sim_backend, *case_options("paged"));
}

CaseOutcome outcome(std::string_view text) { return run_paged(text).outcome; }

TEST(PagedExpectation, AnOkMustStayOk) {
  EXPECT_EQ(outcome("cap 1GiB\nalloc a 1GiB\nexpect ok"), CaseOutcome::pass);
  const CaseResult refused = run_paged("cap 1GiB\nalloc a 2GiB\nexpect ok");
  ASSERT_EQ(refused.outcome, CaseOutcome::fail);
  EXPECT_EQ(refused.failure->key, "outcome");
  EXPECT_EQ(refused.failure->got, "oom");
}

// After it the figures of the recorded policy mean nothing any more.
TEST(PagedExpectation, AnOomMayBecomeOkAndThenOnlyTheIdentitiesCount) {
  EXPECT_EQ(outcome("cap 1GiB\nalloc a 2GiB\nexpect oom"), CaseOutcome::pass);
  EXPECT_EQ(outcome("alloc a 2GiB\nexpect oom allocated=0"), CaseOutcome::pass);
  EXPECT_EQ(outcome("alloc a 2GiB\nexpect oom\nexpect reserved=0 allocated=0"), CaseOutcome::pass);
  EXPECT_EQ(outcome("cap 1GiB\nalloc b 1MiB\nalloc a 2GiB\nexpect oom\nexpect allocated=0"), CaseOutcome::fail);
}

TEST(PagedExpectation, FiguresAreUpperBounds) {
  const std::string setup = "alloc a 3MiB\nalloc b 512\nfree a\nexpect ";
  for (const char* key :
       {"allocated", "requested", "reserved", "cached", "stranded", "segments", "peak_allocated", "peak_reserved"}) {
    EXPECT_EQ(outcome(setup + key + "=1GiB"), CaseOutcome::pass) << key;
    const CaseResult low = run_paged(setup + key + "=0");
    ASSERT_EQ(low.outcome, CaseOutcome::fail) << key;
    EXPECT_EQ(low.failure->key, key);
    EXPECT_EQ(low.failure->expected, "at most 0");
  }
  for (const char* key : {"pending", "retries"}) EXPECT_EQ(outcome(setup + key + "=7"), CaseOutcome::pass) << key;
}

TEST(PagedExpectation, WhatIsNoBoundIsNotCompared) {
  for (const char* key : {"active", "releasable", "largest_free", "device_free"}) {
    EXPECT_EQ(outcome(std::string("cap 1GiB\nalloc a 3MiB\nexpect ") + key + "=12345"), CaseOutcome::pass) << key;
  }
}

TEST(PagedExpectation, ALineOfItsOwnHoldsToTheByte) {
  EXPECT_EQ(outcome("alloc a 512\nexpect@paged ok reserved=2MiB releasable=0"), CaseOutcome::pass);
  EXPECT_EQ(outcome("alloc a 512\nexpect@paged reserved=4MiB"), CaseOutcome::fail);
  EXPECT_EQ(outcome("alloc a 2GiB\nexpect@paged oom"), CaseOutcome::fail);
  EXPECT_EQ(outcome("alloc a 512\nexpect@pytorch oom reserved=0"), CaseOutcome::pass) << "of another policy";
}

TEST(PagedExpectation, RecordedAnswersAreSkipped) {
  const auto one = recorded_case("oom", "final");
  const auto cases = parse_recording(nlohmann::json{{"cases", {one}}}.dump(), "oom.json");
  ASSERT_TRUE(cases) << cases.error().message;
  const CaseResult result = run_case(cases->front(), {}, plain_sim_backend, *case_options("paged"));
  EXPECT_EQ(result.outcome, CaseOutcome::skip);
  EXPECT_THAT(result.reason, HasSubstr("pytorch"));
}

TEST(CaseOptions, AreStatedInFull) {
  EXPECT_EQ(case_options("pytorch")->policy, Policy::pytorch);
  EXPECT_EQ(case_options("paged+fast")->placement, PlacementRule::fast);
  EXPECT_EQ(case_options("paged+tight")->placement, PlacementRule::tight);
  EXPECT_EQ(case_options("paged")->policy, Policy::paged);
  EXPECT_FALSE(case_options("bins"));
}

}  // namespace
}  // namespace quarry::tools
