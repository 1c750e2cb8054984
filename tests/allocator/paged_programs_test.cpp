// Programs of several streams on a device that lags 50 requests behind: what they hold, and who is made to wait.
#include <gtest/gtest.h>

#include "support/stream_programs.h"

namespace quarry::programs {
namespace {

constexpr std::uint64_t kLag = 50;  // requests

Options paged(PlacementRule placement, StreamWaits waits) {
  Options options;
  options.policy = Policy::paged;
  options.placement = placement;
  options.stream_waits = waits;
  return options;
}

double held(const Measured& measured) {
  return static_cast<double>(measured.peak_reserved) / static_cast<double>(measured.peak_active);
}

using Make = Program (*)(std::uint64_t seed);
class StreamPrograms : public ::testing::TestWithParam<Make> {
 protected:
  static constexpr std::uint64_t kSeeds = 4;

  static Measured play(std::uint64_t seed, PlacementRule placement, StreamWaits waits, bool tell,
                       std::uint64_t lag = kLag) {
    const Measured measured = run(GetParam()(seed), paged(placement, waits), lag, tell);
    EXPECT_EQ(measured.broken, "") << GetParam()(seed).name << ", seed " << seed;
    return measured;
  }
};

// The bound. The allocator is not told of the program's waits here; its own are counted.
TEST_P(StreamPrograms, WaitsInsteadOfPages) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Measured measured = play(seed, PlacementRule::tight, StreamWaits::all, false);
    EXPECT_LE(held(measured), 1.01) << "seed " << seed;
    EXPECT_GT(measured.waits, 0u) << "seed " << seed;
    EXPECT_EQ(measured.waits, measured.wait_calls) << "seed " << seed;
  }
}

// A program that tells its waits needs fewer of the allocator's.
TEST_P(StreamPrograms, WaitsThatAreToldNeedNotBeMade) {
  std::uint64_t told = 0;
  std::uint64_t untold = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Measured measured = play(seed, PlacementRule::tight, StreamWaits::all, true);
    EXPECT_LE(held(measured), 1.01) << "seed " << seed;
    told += measured.waits;
    untold += play(seed, PlacementRule::tight, StreamWaits::all, false).waits;
  }
  EXPECT_LT(told, untold);
}

TEST_P(StreamPrograms, NoWaitIsMadeWhereNoneIsWanted) {
  for (const PlacementRule placement : {PlacementRule::tight, PlacementRule::fast}) {
    EXPECT_EQ(play(1, placement, StreamWaits::none, true).wait_calls, 0u);
  }
}

TEST_P(StreamPrograms, EveryWayIsSafe) {
  for (const PlacementRule placement : {PlacementRule::tight, PlacementRule::fast}) {
    for (const StreamWaits waits : {StreamWaits::none, StreamWaits::few, StreamWaits::all}) {
      for (const std::uint64_t lag : {0, 3, 50, 500}) {
        play(1, placement, waits, true, lag);
        play(2, placement, waits, false, lag);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paged, StreamPrograms, ::testing::Values(fsdp_like, ddp_like, pipeline_like, offload_like));

// They share memory only as fast as it becomes free; neither may slow the other down.
TEST(StreamProgramsApart, TwoUnrelatedStreamsAreNeverMadeToWait) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const std::uint64_t lag : {0, 50}) {
      const Measured measured = run(unrelated(seed), paged(PlacementRule::tight, StreamWaits::all), lag, true);
      EXPECT_EQ(measured.broken, "");
      EXPECT_EQ(measured.wait_calls, 0u);
    }
  }
}

}  // namespace
}  // namespace quarry::programs
