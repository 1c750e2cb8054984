// Compare mode on the recordings of the tree: what holds between the policies whatever the trace, and what a recording
// from an empty start says itself.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <quarry/stats/read.h>

#include "tools/replay/replay.h"

namespace quarry::tools {
namespace {

constexpr std::string_view kExpandable = "pytorch+expandable";

// Checked builds walk the whole reservation of an expandable segment at every step, so long traces go without.
std::vector<const PolicyEntry*> policies_for(bool long_trace) {
  std::vector<const PolicyEntry*> policies = *parse_policies("all");
  std::erase_if(policies, [&](const PolicyEntry* policy) { return long_trace && policy->key == kExpandable; });
  return policies;
}

DeviceReplay compare(const std::string& name, const std::vector<const PolicyEntry*>& policies, std::uint32_t repeat) {
  const auto trace = stats::read_snapshot(QUARRY_TEST_DATA "/traces/" + name + ".pickle.gz");
  EXPECT_TRUE(trace) << trace.error().message;
  if (!trace) return {};
  const RecordedSettings recorded = recorded_settings(trace->settings);
  CompareOptions options;
  options.base = recorded.options;
  options.repeat = repeat;
  return compare_device(*trace, 0, recorded, policies, options);
}

struct Recording {
  std::string name;
  bool is_long = false;
};

class CompareRecordings : public testing::TestWithParam<Recording> {};

TEST_P(CompareRecordings, results_are_consistent) {
  const auto policies = policies_for(GetParam().is_long);
  const DeviceReplay replay = compare(GetParam().name, policies, 2);
  ASSERT_EQ(replay.verdict, Verdict::compared);
  ASSERT_EQ(replay.compared.size(), policies.size());
  std::map<std::string_view, const CompareRun*> by_key;
  Bytes below;
  for (const CompareRun& run : replay.compared) {
    by_key[run.policy] = &run;
    EXPECT_GE(run.peak_reserved, below) << run.policy;  // ranked
    below = run.peak_reserved;
    EXPECT_EQ(run.peak_requested, replay.compared.front().peak_requested) << run.policy;
    EXPECT_EQ(run.peak_requested_active, replay.compared.front().peak_requested_active) << run.policy;
    EXPECT_LE(run.peak_requested, run.peak_requested_active) << run.policy;
    EXPECT_EQ(run.ooms, 0u) << run.policy;
    if (run.policy == "bound") continue;
    EXPECT_LE(run.peak_requested_active, run.peak_reserved) << run.policy;
    EXPECT_LE(run.peak_requested, run.peak_allocated) << run.policy;
    EXPECT_LE(run.peak_allocated, run.peak_reserved) << run.policy;
    EXPECT_EQ(run.peak_reserved.count % (2 << 20), 0u) << run.policy;
  }
  EXPECT_EQ(replay.compared.front().policy, "bound");
  const CompareRun& exact = *by_key["exact-size"];
  ASSERT_EQ(exact.iterations.size(), 2u);
  EXPECT_EQ(exact.iterations[1].driver_calls, CallCounts{});
  EXPECT_EQ(exact.iterations[1].peak_reserved, exact.iterations[0].peak_reserved);
}

INSTANTIATE_TEST_SUITE_P(Traces, CompareRecordings,
                         testing::Values(Recording{"mlp_adam"}, Recording{"prefetch_streams", true},
                                         Recording{"cuda_graphs", true}, Recording{"resnet", true},
                                         Recording{"gpt2_lora", true}, Recording{"varlen_max_split", true}),
                         [](const auto& test) { return test.param.name; });

// Recorded from an empty start without a limit, and nothing was ever given back: what PyTorch reserved is the answer.
TEST(CompareRecordings, pytorch_reserves_what_the_recording_reserved) {
  const std::map<std::string, std::uint64_t> recorded_mib = {
      {"gpt2_fp32", 11678}, {"gpt2_bf16", 9910},         {"gpt2_lora", 4244},
      {"resnet", 3230},     {"mlp_adam", 136},           {"prefetch_streams", 2170},
      {"varlen", 7370},     {"varlen_max_split", 19746}, {"varlen_roundup", 7818}};
  for (const auto& [name, mib] : recorded_mib) {
    const DeviceReplay replay = compare(name, {find_policy("pytorch")}, 1);
    ASSERT_EQ(replay.compared.size(), 1u) << name;
    EXPECT_EQ(replay.compared.front().peak_reserved.count, mib << 20) << name;
  }
}

}  // namespace
}  // namespace quarry::tools
