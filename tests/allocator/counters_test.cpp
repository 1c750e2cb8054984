#include <quarry/allocator/counters.h>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quarry {
namespace {

TEST(Stat, KeepsPeakAndSums) {
  Stat stat;
  stat.up(5);
  stat.down(3);
  stat.up(1);
  EXPECT_EQ(stat, (Stat{3, 5, 6, 3}));
}

TEST(Stat, NetChangeCountsOneSide) {
  Stat stat;
  stat.change(4);
  stat.change(0);
  stat.change(-1);
  EXPECT_EQ(stat, (Stat{3, 4, 4, 1}));
}

TEST(Stat, ResetsTouchOnlyTheirOwn) {
  Stat stat{3, 9, 12, 9};
  stat.reset_peak();
  EXPECT_EQ(stat, (Stat{3, 3, 12, 9}));
  stat.reset_accumulated();
  EXPECT_EQ(stat, (Stat{3, 3, 0, 0}));
}

TEST(Counters, ChangeMovesTheClassAndTheTotal) {
  Counters counters;
  counters.change(Metric::active_bytes, SizeClass::small, 512);
  counters.change(Metric::active_bytes, SizeClass::large, 4096);
  counters.change(Metric::active_bytes, SizeClass::small, -512);
  const MetricRow& row = counters[Metric::active_bytes];
  EXPECT_EQ(row.all, (Stat{4096, 4608, 4608, 512}));
  EXPECT_EQ(row.small_pool, (Stat{0, 512, 512, 512}));
  EXPECT_EQ(row.large_pool, (Stat{4096, 4096, 4096, 0}));
  EXPECT_EQ(counters[Metric::active], MetricRow{});
}

TEST(Counters, VisitsEveryStatOnceByName) {
  Counters counters;
  std::set<std::string> names;
  std::set<const Stat*> stats;
  Counters::for_each_stat(counters, [&](std::string_view name, Stat& stat) {
    names.emplace(name);
    stats.insert(&stat);
  });
  const std::size_t expected = 3 * kMetricNames.size() + kGaugeNames.size();
  EXPECT_EQ(names.size(), expected);
  EXPECT_EQ(stats.size(), expected);
  EXPECT_TRUE(names.contains("requested_bytes.large_pool"));
  EXPECT_TRUE(names.contains("allocation.all"));
  EXPECT_TRUE(names.contains("oversize_segments"));
}

TEST(Counters, NamesBelongToTheirStats) {
  Counters counters;
  counters.change(Metric::segment, SizeClass::small, 2);
  counters[Gauge::oversize_allocations].up(3);
  std::set<std::string> moved;
  Counters::for_each_stat(std::as_const(counters), [&](std::string_view name, const Stat& stat) {
    if (stat.current != 0) moved.emplace(name);
  });
  EXPECT_EQ(moved, (std::set<std::string>{"segment.all", "segment.small_pool", "oversize_allocations"}));
}

// Every statistic and tally with values of its own.
Counters filled() {
  Counters counters;
  std::int64_t n = 1;
  Counters::for_each_stat(counters, [&](std::string_view, Stat& stat) {
    stat = {n, 10 * n, 20 * n, 19 * n};
    ++n;
  });
  for (std::uint64_t& tally : counters.tallies) tally = 7;
  counters.max_split_size = 64;
  return counters;
}

TEST(Counters, ResetPeakSetsEveryPeakToCurrentOnly) {
  Counters counters = filled();
  counters.reset_peak();
  Counters expected = filled();
  Counters::for_each_stat(expected, [](std::string_view, Stat& stat) { stat.peak = stat.current; });
  EXPECT_EQ(counters, expected);
}

TEST(Counters, ResetAccumulatedClearsSumsAndTalliesOnly) {
  Counters counters = filled();
  counters.reset_accumulated();
  Counters expected = filled();
  Counters::for_each_stat(expected, [](std::string_view, Stat& stat) { stat.allocated = stat.freed = 0; });
  expected.tallies.fill(0);
  EXPECT_EQ(counters, expected);
  EXPECT_EQ(counters.max_split_size, 64);
}

}  // namespace
}  // namespace quarry
