// What we record and dump, our own reader replays to the same addresses.
#include <quarry/stats/recorder.h>

#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <quarry/allocator/sim/device.h>
#include <quarry/stats/read.h>
#include <quarry/stats/write.h>

#include "support/pytorch.h"
#include "tools/replay/replay.h"

namespace quarry::stats {
namespace {

// A random program: several streams, sizes of both classes, now and then everything cached goes back.
class RandomProgram {
 public:
  RandomProgram(Allocator gpu, unsigned seed) : gpu_(std::move(gpu)), random_(seed) {
    streams_.push_back({});
    for (std::uintptr_t handle : {0x1000u, 0x2000u}) streams_.push_back(gpu_.stream(reinterpret_cast<void*>(handle)));
  }

  void run(int steps, int empty_cache_every) {
    for (int i = 1; i <= steps; ++i) {
      if (live_.empty() || random_() % 5 < 3) {
        allocate();
      } else {
        free_one();
      }
      if (empty_cache_every != 0 && i % empty_cache_every == 0) gpu_.empty_cache();
    }
  }

 private:
  void allocate() {
    const std::size_t limit = random_() % 4 == 0 ? (24u << 20) : (1u << 18);
    Result<Allocation> block = gpu_.allocate(1 + random_() % limit, streams_[random_() % streams_.size()]);
    if (block) live_.push_back(*std::move(block));
  }
  void free_one() {
    std::swap(live_[random_() % live_.size()], live_.back());
    live_.pop_back();
  }

  Allocator gpu_;
  std::mt19937 random_;
  std::vector<Stream> streams_;
  std::vector<Allocation> live_;
};

class DumpFile {
 public:
  explicit DumpFile(const std::string& content) {
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("recorder_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    const Status written = write_file(path_.string(), content);
    EXPECT_TRUE(written) << (written ? "" : written.error().message);
  }
  ~DumpFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

tools::DeviceReplay dump_read_replay(const std::string& dump) {
  const DumpFile file(dump);
  const Result<Trace> trace = read_snapshot(file.path());
  if (!trace) {
    ADD_FAILURE() << trace.error().message;
    return {};
  }
  const tools::RecordedSettings recorded = tools::recorded_settings(trace->settings);
  return tools::replay_device(*trace, 0, recorded, recorded.options, tools::TieChoice::automatic);
}

void expect_round_trip(const std::string& dump) {
  const tools::DeviceReplay got = dump_read_replay(dump);
  EXPECT_EQ(got.verdict, tools::Verdict::matched) << (got.reasons.empty() ? "" : got.reasons[0]);
  EXPECT_EQ(got.rewind_misses, 0u);
  ASSERT_TRUE(got.run) << (got.reasons.empty() ? "" : got.reasons[0]);
  EXPECT_GT(got.run->checked, 100u);
  EXPECT_EQ(got.run->matched, got.run->checked) << (got.run->first_mismatch ? got.run->first_mismatch->text : "");
}

Allocator open(const Options& options = pytorch_options(), Bytes capacity = kUnlimited) {
  sim::DeviceOptions device;
  device.capacity = capacity;
  Result<Allocator> gpu = sim::open(device, options);
  EXPECT_TRUE(gpu);
  return *gpu;
}

TEST(Recorder, a_whole_program_comes_back) {
  Allocator gpu = open();
  Recorder recorder;
  gpu.attach(recorder);
  RandomProgram(gpu, 1).run(2000, 300);
  gpu.detach();
  expect_round_trip(to_snapshot_json(recorder.trace(gpu)));
}

TEST(Recorder, the_pickle_comes_back_too) {
  Allocator gpu = open();
  Recorder recorder;
  gpu.attach(recorder);
  RandomProgram program(gpu, 2);
  program.run(1000, 0);
  expect_round_trip(to_snapshot_pickle(recorder.trace(gpu)));  // with blocks live, and the recorder attached
  gpu.detach();
}

TEST(Recorder, a_recording_that_begins_in_mid_run_comes_back) {
  for (unsigned seed = 10; seed < 15; ++seed) {
    Allocator gpu = open();
    Recorder recorder;
    RandomProgram program(gpu, seed);
    program.run(500, 0);
    gpu.attach(recorder);
    program.run(1500, 400);
    gpu.detach();
    expect_round_trip(to_snapshot_json(recorder.trace(gpu)));
  }
}

TEST(Recorder, options_travel_with_the_recording) {
  Options options = pytorch_options();
  options.max_split_size = {20ull << 20};
  options.roundup_power2_divisions.fill(4);
  options.large_segment_size = {32ull << 20};
  Allocator gpu = open(options);
  Recorder recorder;
  gpu.attach(recorder);
  RandomProgram(gpu, 3).run(2000, 500);
  gpu.detach();
  const Trace trace = recorder.trace(gpu);
  EXPECT_EQ(trace.settings.max_split_size, 20 << 20);
  expect_round_trip(to_snapshot_json(trace));
}

TEST(Recorder, a_full_device_is_recorded_with_its_refusals) {
  Allocator gpu = open(pytorch_options(), {256ull << 20});
  Recorder recorder;
  gpu.attach(recorder);
  RandomProgram(gpu, 4).run(2000, 0);
  gpu.detach();
  const Trace trace = recorder.trace(gpu);
  std::size_t ooms = 0;
  for (const TraceEntry& entry : trace.devices.at(0).entries) ooms += entry.action == TraceAction::oom;
  EXPECT_EQ(ooms, gpu.counters()[Tally::num_ooms]);
  EXPECT_GT(ooms, 0u);
  expect_round_trip(to_snapshot_json(trace));
}

TEST(Recorder, keeps_streams_tags_states_and_sums) {
  Allocator gpu = open();
  Recorder recorder;
  gpu.attach(recorder);
  const Stream side = gpu.stream(reinterpret_cast<void*>(0xbeef));
  Result<Allocation> block = gpu.allocate(Request{.size = {1000}, .stream = side, .tag = Tag{7}});
  ASSERT_TRUE(block);
  gpu.detach();
  EXPECT_EQ(recorder.size(), 2u);
  const Trace trace = recorder.trace(gpu);
  const DeviceTrace& device = trace.devices.at(0);
  ASSERT_EQ(device.entries.size(), 2u);
  EXPECT_EQ(device.entries[0].action, TraceAction::segment_alloc);
  EXPECT_EQ(device.entries[1].action, TraceAction::alloc);
  EXPECT_EQ(device.entries[1].size.count, 1000u);
  EXPECT_EQ(device.entries[1].stream, 0xbeefu);
  EXPECT_GT(device.entries[1].time_us, 0);
  EXPECT_EQ(trace.strings.at(device.entries[1].user_metadata), "tag 7");
  ASSERT_EQ(device.segments.size(), 1u);
  EXPECT_EQ(device.segments[0].stream, 0xbeefu);
  EXPECT_EQ(device.segments[0].allocated_size.count, 1024u);
  EXPECT_EQ(device.segments[0].active_size.count, 1024u);
  EXPECT_EQ(device.segments[0].requested_size.count, 1000u);
  ASSERT_EQ(device.segments[0].blocks.size(), 2u);
  EXPECT_EQ(device.segments[0].blocks[0].state, BlockState::live);
  EXPECT_EQ(device.segments[0].blocks[1].state, BlockState::free);
}

}  // namespace
}  // namespace quarry::stats
