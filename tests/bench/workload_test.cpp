// The lists that bench_compare runs are what they are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "bench/compare/cases.h"
#include "bench/compare/workload.h"

namespace quarry::bench {
namespace {

using testing::HasSubstr;

struct Shape {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t most_live_bytes = 0;
  std::uint64_t most_live_blocks = 0;
};

// Plays a list; a slot must be empty before an allocation and hold the block that a free names.
Shape play(const std::vector<const std::vector<Operation>*>& lists, std::map<std::uint32_t, std::uint64_t>& live) {
  Shape shape;
  std::uint64_t bytes = 0;
  for (const auto& [slot, size] : live) bytes += size;
  for (const auto* list : lists) {
    for (const Operation& operation : *list) {
      EXPECT_EQ(live.contains(operation.slot), operation.frees);
      if (operation.frees) {
        EXPECT_EQ(live[operation.slot], operation.bytes);
        live.erase(operation.slot);
        bytes -= operation.bytes;
        ++shape.frees;
      } else {
        live[operation.slot] = operation.bytes;
        bytes += operation.bytes;
        ++shape.allocations;
      }
      shape.most_live_bytes = std::max(shape.most_live_bytes, bytes);
      shape.most_live_blocks = std::max<std::uint64_t>(shape.most_live_blocks, live.size());
    }
  }
  return shape;
}

Shape whole(const Workload& workload) {
  std::map<std::uint32_t, std::uint64_t> live;
  const Shape shape = play({&workload.before, &workload.operations, &workload.after}, live);
  EXPECT_TRUE(live.empty());
  return shape;
}

TEST(Workload, HotPairHasOneBlockAtATime) {
  const Shape shape = whole(hot_pair(Bytes{512}, 7));
  EXPECT_EQ(shape.allocations, 7u);
  EXPECT_EQ(shape.frees, 7u);
  EXPECT_EQ(shape.most_live_bytes, 512u);
}

TEST(Workload, LastInFirstOutFreesTheNewestFirst) {
  const Workload workload = last_in_first_out(Bytes{512}, 100);
  EXPECT_EQ(whole(workload).most_live_blocks, 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(workload.operations[i].slot, workload.operations[199 - i].slot);
    EXPECT_FALSE(workload.operations[i].frees);
  }
}

TEST(Workload, RandomHasThePublishedShape) {
  for (const std::uint32_t count : {1'000u, 10'000u, 100'000u}) {
    for (const std::uint64_t mib : {1, 4, 64, 1024}) {
      const Workload workload = random_allocations(count, Bytes{mib << 20});
      EXPECT_TRUE(workload.closed());
      const Shape shape = whole(workload);
      EXPECT_EQ(shape.allocations, count);
      EXPECT_EQ(shape.frees, count);
      EXPECT_LE(shape.most_live_bytes, 16'000ull << 20);
      const auto [least, most] = std::ranges::minmax(workload.operations, {}, &Operation::bytes);
      EXPECT_GE(least.bytes, 1u);
      EXPECT_LE(most.bytes, mib << 20);
      EXPECT_GT(most.bytes, (mib << 20) / 100 * 99);
    }
  }
}

TEST(Workload, RandomAllocatesSeventyThreeTimesInAHundredBelowTheCap) {
  const Workload workload = random_allocations(10'000, Bytes{1 << 20});
  const auto allocations = std::count_if(workload.operations.begin(), workload.operations.begin() + 10'000,
                                         [](auto& o) { return !o.frees; });
  EXPECT_NEAR(static_cast<double>(allocations), 7'300, 200);
}

TEST(Workload, RandomStaysAtTheCapWhereRequestsAreLarge) {
  EXPECT_GT(whole(random_allocations(10'000, Bytes{1024ull << 20})).most_live_bytes, 15'000ull << 20);
}

TEST(Workload, ShorteningKeepsTheBeginningAndFreesTheRest) {
  Workload workload = random_allocations(1'000, Bytes{1 << 20});
  shorten(workload, 300);
  EXPECT_EQ(workload.operations.size(), 300u);
  EXPECT_FALSE(workload.closed());
  const Shape shape = whole(workload);
  EXPECT_EQ(shape.allocations, shape.frees);
}

TEST(TraceWorkload, HasTheRequestsOfTheRecording) {
  const Result<Workload> workload = trace_workload(QUARRY_TEST_DATA "/traces/kv_cache.pickle.gz");
  ASSERT_TRUE(workload) << workload.error().message;
  const Shape shape = whole(*workload);
  EXPECT_EQ(shape.allocations - workload->before.size(), 55'444u);  // index.json
  EXPECT_EQ(shape.most_live_bytes, 954'052'096u);
}

TEST(TraceWorkload, RefusesWhatItDoesNotModel) {
  const auto error = [](const std::string& name) {
    const Result<Workload> workload = trace_workload(QUARRY_TEST_DATA "/traces/" + name);
    return workload ? std::string() : workload.error().message;
  };
  EXPECT_THAT(error("prefetch_streams.pickle.gz"), HasSubstr("one stream"));
  EXPECT_THAT(error("nothing_here.pickle.gz"), HasSubstr("nothing_here"));
}

TEST(Cases, AllCanBeMadeAndEndWithNothingLive) {
  for (const Case& one : all_cases()) {
    const Result<Workload> workload = one.make();
    ASSERT_TRUE(workload) << one.name;
    EXPECT_GT(whole(*workload).allocations, 0u) << one.name;
  }
}

}  // namespace
}  // namespace quarry::bench
