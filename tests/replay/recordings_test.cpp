// Recordings of real jobs: every address must come back.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <quarry/stats/read.h>
#include <nlohmann/json.hpp>

#include "support/shared_folder.h"
#include "tools/replay/replay.h"

namespace quarry::tools {
namespace {

struct Recording {
  const char* name;
  std::uint64_t allocations;
};

DeviceReplay replay_recording(const std::string& path) {
  const Result<stats::Trace> trace = stats::read_snapshot(path);
  if (!trace) {
    ADD_FAILURE() << trace.error().message;
    return {};
  }
  const RecordedSettings recorded = recorded_settings(trace->settings);
  return replay_device(*trace, 0, recorded, recorded.options, TieChoice::automatic);
}

void expect_all_match(const DeviceReplay& got, std::uint64_t allocations) {
  EXPECT_EQ(got.verdict, Verdict::matched);
  EXPECT_EQ(got.rewind_misses, 0u);
  ASSERT_TRUE(got.run);
  EXPECT_EQ(got.run->checked, allocations);
  EXPECT_EQ(got.run->matched, allocations);
}

std::string own_trace(const std::string& name) {
  return std::string(QUARRY_TEST_DATA) + "/traces/" + name + ".pickle.gz";
}

class OwnRecording : public testing::TestWithParam<Recording> {};

TEST_P(OwnRecording, matches_entirely) {
  expect_all_match(replay_recording(own_trace(GetParam().name)), GetParam().allocations);
}

// The peaks that PyTorch's own statistics had at the end of each job.
TEST_P(OwnRecording, has_the_peaks_of_the_real_allocator) {
  std::ifstream file(std::string(QUARRY_TEST_DATA) + "/traces/index.json");
  const auto index = nlohmann::json::parse(file);
  const DeviceReplay got = replay_recording(own_trace(GetParam().name));
  ASSERT_TRUE(got.run);
  std::size_t found = 0;
  for (const auto& row : index) {
    if (row.at("name") != GetParam().name) continue;
    ++found;
    EXPECT_EQ(got.run->peak_allocated.count, row.at("peak_allocated"));
    EXPECT_EQ(got.run->peak_reserved.count, row.at("peak_reserved"));
    // Theirs is of active blocks; the two are one where no other stream holds a block.
    if (got.run->foreign_uses == 0) {
      EXPECT_EQ(got.run->peak_requested.count, row.at("peak_requested"));
    }
    EXPECT_EQ(got.run->ooms, row.at("ooms"));
  }
  EXPECT_EQ(found, 1u);
}

// 135,284 allocations; among them work on several streams, expandable segments and captured graphs.
INSTANTIATE_TEST_SUITE_P(Replay, OwnRecording,
                         testing::Values(Recording{"gpt2_fp32", 3497}, Recording{"gpt2_bf16", 5638},
                                         Recording{"gpt2_checkpoint", 5456}, Recording{"gpt2_lora", 4626},
                                         Recording{"resnet", 2375}, Recording{"varlen", 9000},
                                         Recording{"varlen_roundup", 9000}, Recording{"varlen_max_split", 9000},
                                         Recording{"kv_cache", 55444}, Recording{"mlp_adam", 181},
                                         Recording{"optimizer_midrun", 3998}, Recording{"varlen_gc", 8766},
                                         Recording{"oom_growing_batch", 8637}, Recording{"prefetch_streams", 476},
                                         Recording{"varlen_expandable", 9000}, Recording{"cuda_graphs", 190}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(OwnRecordings, several_streams_are_seen) {
  EXPECT_EQ(replay_recording(own_trace("prefetch_streams")).run->foreign_uses, 73u);
}

// Files of other people.
std::string public_trace(const std::string& name) {
  return (test::shared_folder() / "traces" / "public" / (name + ".pickle")).string();
}

class PublicRecording : public testing::TestWithParam<Recording> {
 protected:
  void SetUp() override {
    path_ = public_trace(GetParam().name);
    if (!std::filesystem::exists(path_))
      GTEST_SKIP() << path_ << " is not there; set QUARRY_SHARED to the shared folder";
  }
  std::string path_;
};
class PublicSegments : public PublicRecording {};

TEST_P(PublicRecording, matches_entirely) { expect_all_match(replay_recording(path_), GetParam().allocations); }

INSTANTIATE_TEST_SUITE_P(
    Replay, PublicRecording,
    testing::Values(Recording{"tiny-36-allocs", 36}, Recording{"transformer-small-forward", 681},
                    Recording{"transformer-medium-ctx512-infer", 1666}, Recording{"transformer-train-13g", 1721},
                    Recording{"transformer-compiled-forward", 2162}, Recording{"transformer-train-22g", 6488},
                    Recording{"transformer-medium-ctx1024-train", 7591}, Recording{"opt-federated-from-empty", 7946}));

TEST_P(PublicSegments, hold_what_they_hold_and_nothing_is_checked) {
  const DeviceReplay got = replay_recording(path_);
  EXPECT_EQ(got.verdict, Verdict::nothing_to_check);
  EXPECT_EQ(got.segments, GetParam().allocations);
  EXPECT_GT(got.reserved, got.allocated);
}

// Here the number is that of segments.
INSTANTIATE_TEST_SUITE_P(Replay, PublicSegments,
                         testing::Values(Recording{"attention-segments-only", 370},
                                         Recording{"kv-cache-segments-only", 259}, Recording{"opt13b-old-schema", 266},
                                         Recording{"opt13b-oom-old-schema", 176},
                                         Recording{"rl-private-pools-pending-free", 127}));

TEST(PublicFixture, that_contradicts_itself_is_not_run) {
  const std::string path = public_trace("inconsistent-fixture");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there; set QUARRY_SHARED to the shared folder";
  const DeviceReplay got = replay_recording(path);
  EXPECT_EQ(got.verdict, Verdict::inconsistent);
  EXPECT_FALSE(got.run);
}

}  // namespace
}  // namespace quarry::tools
