// The runner must notice every wrong number: recorded cases that agree are changed in one place each.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Tampering {
  std::string label;
  std::string file;
  std::string name;
  std::optional<std::size_t> step;  // where the difference must be found
  std::string key;
  std::string expected;  // part of the text
  std::string got;
  std::function<void(json&)> change;
};

void PrintTo(const Tampering& tampering, std::ostream* out) { *out << tampering.label; }

json& op(json& one, std::size_t index) { return one["ops"][index]; }

const Tampering kTamperings[] = {
    {"AtOffset", "split", "best_fit_ties", 1, "at", "segment 0 offset 1", "segment ",
     [](json& c) {
       op(c, 1)["at"] = {0, 1, 512};
     }},
    {"AtSize", "queries", "base_and_largest", 1, "at", "size 3145729", "size 3145728",
     [](json& c) { op(c, 1)["at"][2] = 3145729; }},
    {"AtMissing", "queries", "base_and_largest", 1, "at", "none", "segment 0 offset 5242880",
     [](json& c) { op(c, 1).erase("at"); }},
    {"BaseAt", "queries", "base_and_largest", 2, "at", "segment 1 offset 0", "segment 0 offset 0",
     [](json& c) { op(c, 2)["at"][0] = 1; }},
    {"CallResult", "oom", "retry_succeeds", 3, "calls", "cudaMalloc 943718400 ok", "cudaMalloc 943718400 oom",
     [](json& c) { op(c, 3)["calls"][0][2] = "ok"; }},
    {"CallOrder", "oom", "retry_succeeds", 3, "calls", "entry 0: cudaFree", "entry 0: cudaMalloc",
     [](json& c) { std::swap(op(c, 3)["calls"][0], op(c, 3)["calls"][2]); }},
    {"CallMissing", "oom", "retry_succeeds", 3, "calls", "entry 0: nothing", "entry 0: cudaMalloc",
     [](json& c) { op(c, 3).erase("calls"); }},
    {"EventSize", "oom", "retry_succeeds", 3, "events", "bytes 943718401", "bytes 943718400",
     [](json& c) { op(c, 3)["events"][1][3] = 943718401; }},
    {"EventAdded", "oom", "retry_succeeds", 2, "events", "entry 2: free_completed", "entry 2: nothing",
     [](json& c) { op(c, 2)["events"].push_back(op(c, 2)["events"][1]); }},
    {"EventsMissing", "oom", "retry_succeeds", 1, "events", "entry 0: nothing", "entry 0: oom",
     [](json& c) { op(c, 1).erase("events"); }},
    {"LayoutSize", "queries", "base_and_largest", 4, "layout", "8388608+12582913F", "8388608+12582912F",
     [](json& c) { op(c, 4)["layout"][0][7][2][1] = 12582913; }},
    {"LayoutState", "queries", "base_and_largest", 4, "layout", "0+5242880P", "0+5242880F",
     [](json& c) { op(c, 4)["layout"][0][7][0][3] = "P"; }},
    {"LayoutRequested", "queries", "base_and_largest", 1, "layout", "3145728A(7)", "3145728A(3145728)",
     [](json& c) { op(c, 1)["layout"][0][7][1][2] = 7; }},
    {"LayoutClass", "queries", "base_and_largest", 0, "layout", "small", "large",
     [](json& c) { op(c, 0)["layout"][0][4] = "small"; }},
    {"LayoutUnsaid", "queries", "base_and_largest", 4, "layout", "0+5242880A", "0+5242880F",
     [](json& c) { op(c, 4).erase("layout"); }},
    {"StatPeak", "resets", "peak", 0, "stats.active.all", "[1, 2, 1, 0]", "[1, 1, 1, 0]",
     [](json& c) { op(c, 0)["stats"]["active.all"][1] = 2; }},
    {"StatUnsaid", "resets", "peak", 0, "stats.active.all", "[0, 0, 0, 0]", "[1, 1, 1, 0]",
     [](json& c) { op(c, 0)["stats"].erase("active.all"); }},
    {"StatCount", "oom", "final", 1, "stats.num_ooms", "2", "1", [](json& c) { op(c, 1)["stats"]["num_ooms"] = 2; }},
    {"StatUnknown", "oom", "final", 1, "stats.num_moons", "1", "nothing",
     [](json& c) { op(c, 1)["stats"]["num_moons"] = 1; }},
    {"Value", "fraction", "half", 1, "value", "0.25", "0.5", [](json& c) { op(c, 1)["value"] = 0.25; }},
    {"ValueMissing", "fraction", "half", 1, "value", "none", "0.5", [](json& c) { op(c, 1).erase("value"); }},
    {"ErrorMissing", "oom", "final", 1, "error", "no error", "out of memory", [](json& c) { op(c, 1).erase("error"); }},
    {"ErrorKind", "oom", "final", 1, "error", "invalid", "out of memory",
     [](json& c) { op(c, 1)["error"] = "ValueError"; }},
    {"ErrorExpected", "oom", "final", 0, "error", "out of memory", "no error",
     [](json& c) { op(c, 0)["error"] = "OutOfMemoryError"; }},
    {"Skip", "split", "double_free_unknown", 2, "skip", "false", "true", [](json& c) { op(c, 2).erase("skip"); }},
    {"Null", "rounding", "zero_size", 0, "null", "false", "true", [](json& c) { op(c, 0).erase("null"); }},
    {"StartStats", "max_split", "threshold_20", std::nullopt, "stats.max_split_size", "5", "20971520",
     [](json& c) { c["start_stats"]["max_split_size"] = 5; }},
    {"Refused", "fraction", "from_config", std::nullopt, "refused_at_load", "refused", "accepted",
     [](json& c) { c["refused_at_load"] = "text"; }},
    {"Accepted", "fraction", "from_config", std::nullopt, "refused_at_load", "accepted", "refused",
     [](json& c) { c["config"] = "per_process_memory_fraction:7"; }},
    {"CompactSums", "stress_tight_oom", "tight_oom_0", 3, "s", "[1, ", "[0, ", [](json& c) { op(c, 3)["s"][0] = 1; }},
    {"CompactAt", "stress_tight_oom", "tight_oom_0", 2, "at", "offset 512", "offset 0",
     [](json& c) { op(c, 2)["at"][1] = 512; }},
    {"CompactCalls", "stress_tight_oom", "tight_oom_0", 2, "calls", "entry 0: nothing", "cudaMalloc 2097152 ok",
     [](json& c) { op(c, 2).erase("calls"); }},
    {"CompactLayout", "stress_tight_oom", "tight_oom_0", 200, "layout", "stream 9", "stream 0",
     [](json& c) { op(c, 200)["layout"][0][3] = 9; }},
    {"CompactStats", "stress_tight_oom", "tight_oom_0", 200, "stats.num_device_free", "0", "",
     [](json& c) { op(c, 200)["stats"]["num_device_free"] = 0; }},
    {"CompactEnd", "stress_default", "default_0", 2010, "stats.allocation.all", "[0, 0, 0, 0]", "",
     [](json& c) {
       op(c, c["ops"].size() - 1)["stats"]["allocation.all"] = {0, 0, 0, 0};
     }},
};

class Tampered : public testing::TestWithParam<Tampering> {};

TEST_P(Tampered, IsNoticed) {
  const Tampering& tampering = GetParam();
  json one = recorded_case(tampering.file, tampering.name);
  ASSERT_TRUE(one.contains("ops"));
  ASSERT_EQ(run_recorded(one, tampering.file).outcome, CaseOutcome::pass);
  tampering.change(one);
  const CaseResult result = run_recorded(one, tampering.file);
  ASSERT_EQ(result.outcome, CaseOutcome::fail);
  EXPECT_EQ(result.name, tampering.name);
  EXPECT_EQ(result.failure->step, tampering.step);
  EXPECT_EQ(result.failure->key, tampering.key);
  EXPECT_THAT(result.failure->expected, HasSubstr(tampering.expected));
  EXPECT_THAT(result.failure->got, HasSubstr(tampering.got));
  EXPECT_FALSE(result.failure->step_text.empty());
}

INSTANTIATE_TEST_SUITE_P(Recorded, Tampered, testing::ValuesIn(kTamperings),
                         [](const auto& instance) { return instance.param.label; });

TEST(CaseRun, TheRequestedSizeOfAFreeBlockIsNotCompared) {
  json one = recorded_case("queries", "base_and_largest");
  op(one, 4)["layout"][0][7][0][2] = 77;
  EXPECT_EQ(run_recorded(one, "queries").outcome, CaseOutcome::pass);
}

// Only the order inside each stream is part of the contract.
TEST(CaseRun, OrderOfCallsOfDifferentStreams) {
  json one = recorded_case("streams", "own_free_lists");
  for (auto& step : one["ops"]) {
    if (step["op"] != "empty_cache") continue;
    std::reverse(step["calls"].begin(), step["calls"].end());
    std::reverse(step["events"].begin(), step["events"].end());
  }
  EXPECT_EQ(run_recorded(one, "streams").outcome, CaseOutcome::pass);
}

TEST(CaseRun, EveryExpectKeyIsCompared) {
  const std::string setup = "cap 64MiB\nalloc a 1000\nalloc b 3MiB\nfree b\nalloc big 1GiB\nexpect oom ";
  const std::string_view right[] = {"allocated=1024",      "requested=1000",    "active=1024",
                                    "pending=0",           "reserved=2MiB",     "cached=2096128",
                                    "releasable=0",        "stranded=2096128",  "largest_free=2096128",
                                    "segments=1",          "device_free=62MiB", "peak_allocated=3146752",
                                    "peak_reserved=22MiB", "retries=1"};
  for (const std::string_view text : right) {
    const CaseResult good = run_case(script(setup + std::string(text)));
    EXPECT_EQ(good.outcome, CaseOutcome::pass) << text << " got " << (good.failure ? good.failure->got : "");
    const std::string key(text.substr(0, text.find('=')));
    const CaseResult bad = run_case(script(setup + key + "=12345"));
    ASSERT_EQ(bad.outcome, CaseOutcome::fail) << text;
    EXPECT_EQ(bad.failure->key, key);
    EXPECT_EQ(bad.failure->expected, "12345");
    EXPECT_EQ(bad.failure->line, 6u);
    EXPECT_EQ(bad.failure->step, 4u);
  }
}

TEST(CaseRun, OutcomeOfTheLastAlloc) {
  const CaseResult result = run_case(script("cap 1GiB\nalloc a 2GiB\nexpect ok"));
  ASSERT_EQ(result.outcome, CaseOutcome::fail);
  EXPECT_EQ(result.failure->key, "outcome");
  EXPECT_EQ(result.failure->expected, "ok");
  EXPECT_EQ(result.failure->got, "oom");
  EXPECT_EQ(run_case(script("alloc a 2GiB\nexpect oom")).outcome, CaseOutcome::fail);
  EXPECT_EQ(run_case(script("alloc a 2GiB\nexpect@paged oom allocated=1")).outcome, CaseOutcome::pass);
  EXPECT_EQ(run_case(script("alloc a 2GiB\nexpect@pytorch oom")).outcome, CaseOutcome::fail);
}

TEST(CaseRun, AViewKeepsItsBlock) {
  EXPECT_EQ(
      run_case(
          script("alloc a 512\nview v a\nview w v\nfree a\nfree v\nexpect allocated=512\nfree w\nexpect allocated=0"))
          .outcome,
      CaseOutcome::pass);
}

TEST(CaseRun, ScriptsStopAtWhatCannotBe) {
  const CaseResult twice = run_case(script("alloc a 512\nalloc a 512"));
  ASSERT_EQ(twice.outcome, CaseOutcome::fail);
  EXPECT_EQ(twice.failure->key, "operation");
  EXPECT_THAT(twice.failure->got, HasSubstr("'a' is in use"));
  const CaseResult bad_setting = run_case(script("settings max_split_size_mb:x"));
  ASSERT_EQ(bad_setting.outcome, CaseOutcome::fail);
  EXPECT_EQ(bad_setting.failure->key, "error");
  const CaseResult bad_config = run_case(script("config max_split_size_mb:x\ncheck"));
  ASSERT_EQ(bad_config.outcome, CaseOutcome::fail);
  EXPECT_EQ(bad_config.failure->key, "refused_at_load");
  const CaseResult mapping_fault = run_case(script("fail cudaMalloc 1\nalloc a 512\nexpect ok retries=1"));
  EXPECT_EQ(mapping_fault.outcome, CaseOutcome::pass);
}

// Steps that walk a large heap, each for itself, would take hours.
TEST(CaseRun, ScriptsThatLookTooOftenStop) {
  const std::string blocks = "cap 4MiB\nfor i in 1..2000: alloc a{i} 512\nfor i in 1..6000: ";
  for (const char* look : {"expect allocated=1024000", "alloc b{i} 5MiB"}) {
    const CaseResult result = run_case(script(blocks + look));
    ASSERT_EQ(result.outcome, CaseOutcome::fail) << look;
    EXPECT_EQ(result.failure->key, "operation");
    EXPECT_THAT(result.failure->got, HasSubstr("look at more than 10000000 blocks"));
  }
  EXPECT_EQ(run_case(script(blocks + "check")).outcome, CaseOutcome::pass);
}

}  // namespace
}  // namespace quarry::tools
