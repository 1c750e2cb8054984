// Through the CUDA backend and the stand-in libcuda every recording runs as it does on the simulated device itself.
#ifdef QUARRY_STANDIN_LIBRARY

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <quarry/stats/read.h>

#include "support/standin_backend.h"
#include "tools/replay/replay.h"

namespace quarry::tools {
namespace {

constexpr std::string_view kEnding = ".pickle.gz";

std::filesystem::path traces() { return std::filesystem::path(QUARRY_TEST_DATA) / "traces"; }

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(traces())) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(kEnding)) names.push_back(file.substr(0, file.size() - kEnding.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

stats::Trace recording(const std::string& name) {
  Result<stats::Trace> trace = stats::read_snapshot((traces() / (name + std::string(kEnding))).string());
  if (trace) return *std::move(trace);
  ADD_FAILURE() << trace.error().message;
  return {};
}

// The run itself, but for the time it took.
void expect_same(const DeviceReplay& got, const DeviceReplay& direct) {
  EXPECT_EQ(got.verdict, direct.verdict);
  ASSERT_TRUE(got.run);
  ASSERT_TRUE(direct.run);
  EXPECT_EQ(got.run->options.tie_break, direct.run->options.tie_break);
  EXPECT_EQ(got.run->checked, direct.run->checked);
  EXPECT_EQ(got.run->matched, direct.run->matched);
  EXPECT_EQ(got.run->peak_allocated, direct.run->peak_allocated);
  EXPECT_EQ(got.run->peak_reserved, direct.run->peak_reserved);
  EXPECT_EQ(got.run->driver_calls, direct.run->driver_calls);
  EXPECT_EQ(got.run->releases_refused, direct.run->releases_refused);
}

class StandinRecording : public testing::TestWithParam<std::string> {};

TEST_P(StandinRecording, matches_as_on_the_simulated_device) {
  const stats::Trace trace = recording(GetParam());
  ASSERT_FALSE(trace.devices.empty());
  const RecordedSettings recorded = recorded_settings(trace.settings);
  const auto replay = [&](const MakeSimBackend& backend) {
    return replay_device(trace, 0, recorded, recorded.options, TieChoice::automatic, backend);
  };
  const DeviceReplay got = replay(standin::backend);
  EXPECT_EQ(got.verdict, Verdict::matched);
  expect_same(got, replay(plain_sim_backend));
}

INSTANTIATE_TEST_SUITE_P(Replay, StandinRecording, testing::ValuesIn(recordings()),
                         [](const auto& one) { return one.param; });

// The runs part, so several follow each other and the first difference is looked at.
TEST(StandinRecordings, part_from_other_settings_where_the_simulated_device_does) {
  const stats::Trace trace = recording("varlen_roundup");
  ASSERT_FALSE(trace.devices.empty());
  const RecordedSettings recorded = recorded_settings(trace.settings);
  Options plain;
  plain.policy = Policy::pytorch;
  const auto replay = [&](const MakeSimBackend& backend) {
    return replay_device(trace, 0, recorded, plain, TieChoice::automatic, backend);
  };
  const DeviceReplay got = replay(standin::backend);
  const DeviceReplay direct = replay(plain_sim_backend);
  expect_same(got, direct);
  ASSERT_TRUE(got.run->first_mismatch);
  EXPECT_EQ(got.run->first_mismatch->entry, direct.run->first_mismatch->entry);
  EXPECT_EQ(got.run->first_mismatch->chosen, direct.run->first_mismatch->chosen);
}

}  // namespace
}  // namespace quarry::tools

#endif
