// What the paged policy holds on real recordings and packing problems: F = peak reserved / peak requested, from an
// empty allocator, pages of 2 MiB, a device without end.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <quarry/stats/packing.h>
#include <quarry/stats/read.h>

#include "support/shared_folder.h"
#include "tools/replay/compare.h"
#include "tools/replay/program.h"
#include "tools/replay/rewind.h"
#include "tools/replay/settings.h"
#include "tools/replay/workload.h"

namespace quarry::tools {
namespace {

constexpr std::uint64_t kPage = 2ull << 20;

std::string own(const std::string& name) { return QUARRY_TEST_DATA "/traces/" + name + ".pickle.gz"; }

std::string shared(const std::string& name) { return (test::shared_folder() / "traces" / name).string(); }

bool there(const std::string& path) { return std::filesystem::exists(path); }

// Of the device with the most entries.
Workload recording(const std::string& path) {
  const Result<stats::Trace> trace = stats::read_snapshot(path);
  EXPECT_TRUE(trace) << path;
  if (!trace) return {};
  const RecordedSettings recorded = recorded_settings(trace->settings);
  std::size_t device = 0;
  for (std::size_t i = 1; i < trace->devices.size(); ++i) {
    if (trace->devices[i].entries.size() > trace->devices[device].entries.size()) device = i;
  }
  const Rewound start = rewind(*trace, device, recorded.options);
  return make_workload(make_program(trace->devices[device], start), start);
}

CompareRun play(const Workload& workload, std::string_view key, const CompareOptions& options = {}) {
  const Result<CompareRun> run = run_policy(workload, key, options);
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  return run ? *run : CompareRun{};
}

struct Spread {
  double mean = 0;
  double most = 0;
};
Spread fragmentation(const std::vector<std::string>& paths, std::string_view key) {
  Spread spread;
  for (const std::string& path : paths) {
    const double f = play(recording(path), key).fragmentation();
    spread.mean += f / static_cast<double>(paths.size());
    spread.most = std::max(spread.most, f);
  }
  return spread;
}

std::vector<std::string> large_own() {
  std::vector<std::string> paths;
  for (const char* name : {"gpt2_fp32", "gpt2_bf16", "gpt2_checkpoint", "gpt2_lora", "resnet", "varlen", "varlen_gc",
                           "optimizer_midrun", "oom_growing_batch"}) {
    paths.push_back(own(name));
  }
  return paths;
}

std::vector<std::string> large_public() {
  std::vector<std::string> paths;
  for (const char* name :
       {"opt-federated-from-empty", "transformer-compiled-forward", "transformer-medium-ctx1024-train",
        "transformer-medium-ctx512-infer", "transformer-train-13g", "transformer-train-22g"}) {
    paths.push_back(shared("public/" + std::string(name) + ".pickle"));
  }
  return paths;
}

TEST(PagedRecordings, TightOnTheLargeOnes) {
  const Spread spread = fragmentation(large_own(), "paged+tight");
  EXPECT_LE(spread.mean, 1.002);
  EXPECT_LE(spread.most, 1.006);
}

TEST(PagedRecordings, FastOnTheLargeOnes) {
  const Spread spread = fragmentation(large_own(), "paged+fast");
  EXPECT_LE(spread.mean, 1.006);
  EXPECT_LE(spread.most, 1.02);
}

TEST(PagedRecordings, BothOnTheLargePublicOnes) {
  if (!there(large_public().front())) GTEST_SKIP() << "needs shared/traces/public (QUARRY_SHARED)";
  const Spread tight = fragmentation(large_public(), "paged+tight");
  EXPECT_LE(tight.mean, 1.002);
  EXPECT_LE(tight.most, 1.006);
  const Spread fast = fragmentation(large_public(), "paged+fast");
  EXPECT_LE(fast.mean, 1.006);
  EXPECT_LE(fast.most, 1.02);
}

TEST(PagedRecordings, SmallOnesAreAFewPagesAboveTheBound) {
  for (const char* name : {"kv_cache", "mlp_adam"}) {
    const CompareRun run = play(recording(own(name)), "paged+tight");
    const std::uint64_t bound = (run.peak_requested.count + kPage - 1) / kPage * kPage;
    EXPECT_LE(run.peak_reserved.count, bound + 10 * kPage) << name;
  }
}

// Several streams and captures: no worse than the best setting of the pytorch policy, whether events lag or not.
TEST(PagedRecordings, StreamsAndCapturesHoldNoMoreThanPytorchAtItsBest) {
  for (const char* name : {"prefetch_streams", "cuda_graphs"}) {
    const Workload workload = recording(own(name));
    for (const std::uint32_t lag : {0, 50}) {
      CompareOptions options;
      options.event_lag = lag;
      std::uint64_t best = ~0ull;
      for (const char* key : {"pytorch", "pytorch+expandable", "pytorch+max_split", "pytorch+roundup"}) {
        best = std::min(best, play(workload, key, options).peak_reserved.count);
      }
      const std::uint64_t slack = std::max(best / 100, 4 * kPage);
      EXPECT_LE(play(workload, "paged+tight", options).peak_reserved.count, best + slack) << name << ", lag " << lag;
    }
  }
}

TEST(PagedRecordings, WaitsMakeUpForEventsThatLag) {
  CompareOptions options;
  options.base.stream_waits = StreamWaits::all;
  options.event_lag = 50;
  const CompareRun run = play(recording(own("prefetch_streams")), "paged+tight", options);
  EXPECT_LE(run.fragmentation_active(), 1.01);
  EXPECT_GT(run.driver_calls()[static_cast<std::size_t>(sim::Call::wait_on_stream)], 0u);
}

// A program that repeats itself needs no driver from its fourth round on.
TEST(PagedRecordings, TheFourthRoundMapsNothing) {
  for (const char* name : {"gpt2_lora", "resnet", "optimizer_midrun", "mlp_adam", "cuda_graphs", "prefetch_streams"}) {
    CompareOptions options;
    options.repeat = 4;
    const CompareRun run = play(recording(own(name)), "paged+tight", options);
    ASSERT_EQ(run.iterations.size(), 4u) << name;
    EXPECT_GT(run.iterations[0].driver_calls[static_cast<std::size_t>(sim::Call::map)], 0u) << name;
    EXPECT_EQ(run.iterations[3].driver_calls[static_cast<std::size_t>(sim::Call::map)], 0u) << name;
  }
}

Workload packing(const std::string& name, std::uint64_t scale) {
  const auto problem = stats::read_packing(shared("packing/" + name + ".csv"));
  EXPECT_TRUE(problem) << name;
  const Result<Workload> workload = make_workload(*problem, scale);
  EXPECT_TRUE(workload) << name;
  return workload ? *workload : Workload{};
}

TEST(PagedPacking, GraphsPackCloseToTheirBound) {
  if (!there(shared("packing"))) GTEST_SKIP() << "needs shared/traces/packing (QUARRY_SHARED)";
  EXPECT_LE(play(packing("somas-pangu-2.6B", 1), "paged+tight").fragmentation(), 1.004);
  EXPECT_LE(play(packing("somas-resnet50", 1), "paged+tight").fragmentation(), 1.003);
}

// 1 KiB of the problem stands for a page of 2 MiB; the bounds are the largest sums of live sizes.
TEST(PagedPacking, HardProblemsOfWholePagesAreSolved) {
  if (!there(shared("packing"))) GTEST_SKIP() << "needs shared/traces/packing (QUARRY_SHARED)";
  for (const char letter : std::string("ABCDEFGHIJK")) {
    const CompareRun run = play(packing(std::string(1, letter) + ".1048576", 2048), "paged+tight");
    const std::uint64_t bound = letter == 'C'   ? 1'039'360
                                : letter == 'D' ? 986'112
                                : letter == 'J' ? 989'184
                                                : 1'048'576;
    EXPECT_LE(static_cast<double>(run.peak_reserved.count), 1.001 * 2048 * static_cast<double>(bound)) << letter;
  }
}

}  // namespace
}  // namespace quarry::tools
