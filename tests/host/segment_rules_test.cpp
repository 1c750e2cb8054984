// The two rules of plain segments (heap/placement_segments.h): what is held beside what was asked for, and that a small
// block never holds up a huge segment.
#include <algorithm>
#include <random>

#include "host/host_bench.h"
#include "support/identities.h"

#include <quarry/allocator/heap/placement_segments.h>

namespace quarry::test {
namespace {

constexpr Bytes kPage = 64_KiB;

TEST(SegmentRules, TheLargestSegmentOfARequest) {
  EXPECT_EQ(most_segment(1_B), 2_MiB);
  EXPECT_EQ(most_segment(128_KiB), 2_MiB);
  EXPECT_EQ(most_segment(1_MiB), 16_MiB);
  EXPECT_EQ(most_segment(1_GiB), 16_GiB);
  EXPECT_EQ(most_segment({1ull << 63}), kUnlimited);
}

TEST(SegmentRules, SmallRequestsShareAPartOfWhatIsLive) {
  EXPECT_EQ(segment_to_get(512_B, kPage, kPage, 0_B, 0_B), kPage);
  EXPECT_EQ(segment_to_get(512_B, kPage, kPage, 1_MiB, 0_B), 256_KiB);
  EXPECT_EQ(segment_to_get(512_B, kPage, kPage, 1_GiB, 1_GiB), 2_MiB);
  EXPECT_EQ(segment_to_get(900_KiB, 960_KiB, kPage, 1_MiB, 0_B), 960_KiB);
}

TEST(SegmentRules, LargeRequestsShareAtMostASixteenth) {
  EXPECT_EQ(segment_to_get(1_MiB, 1_MiB, kPage, 0_B, 0_B), 1_MiB) << "no room for a second";
  EXPECT_EQ(segment_to_get(1_MiB, 1_MiB, kPage, 15_MiB, 0_B), 2_MiB);
  EXPECT_EQ(segment_to_get(1_MiB, 1_MiB, kPage, 64_MiB, 0_B), 5_MiB);
  EXPECT_EQ(segment_to_get(1_MiB + 512_B, 1_MiB + 64_KiB, kPage, 64_MiB, 0_B), 5_MiB + 64_KiB);
  EXPECT_EQ(segment_to_get(1_MiB, 1_MiB, kPage, 64_MiB, 8_MiB), 1_MiB) << "enough lies free";
  EXPECT_EQ(segment_to_get(1_MiB, 1_MiB, kPage, 8_GiB, 0_B), 16_MiB) << "no more than 16 times the request";
  const Bytes odd{1329664};  // 16 of them in whole pages would be more than 16 times one
  EXPECT_LE(segment_to_get(odd, 1344_KiB, kPage, 8_GiB, 0_B), most_segment(odd));
  EXPECT_EQ(segment_to_get(8_MiB, 8_MiB, kPage, 8_GiB, 0_B), 32_MiB);
  EXPECT_EQ(segment_to_get(100_MiB, 100_MiB, kPage, 8_GiB, 0_B), 100_MiB);
}

Bytes random_size(std::mt19937_64& random, unsigned from, unsigned to) {
  const unsigned scale = from + static_cast<unsigned>(random() % (to - from));
  return {(1ull << scale) + random() % (1ull << scale)};
}

// Bytes held at the peak of a program that only allocates.
TEST(SegmentRules, WhatIsHeldExceedsWhatWasAskedForByASixteenthAtMost) {
  for (const bool registers : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      PinnedBench bench(pinned_options(registers));
      std::mt19937_64 random(seed);
      const unsigned top = 21 + static_cast<unsigned>(seed % 8);
      std::vector<Allocation> live;
      Bytes requested;
      for (int i = 0; i < 150; ++i) {
        const Bytes size = random_size(random, 20, top);
        requested += size;
        live.push_back(*bench.pinned.allocate(size.count));
        ASSERT_LE(held(bench.pinned).count, requested.count + requested.count / 16 + kPage.count)
            << "seed " << seed << " request " << i;
      }
      EXPECT_LE(peak_held(bench.pinned).count, requested.count + requested.count / 16 + kPage.count);
    }
  }
}

// Requests of one size are what programs make most.
TEST(SegmentRules, RequestsOfOneSizeShareSegments) {
  PinnedBench bench;
  std::vector<Bytes> sizes(1000, 1_MiB);
  const std::vector<Allocation> blocks = allocate_all(bench.pinned, sizes);
  const std::uint64_t calls = bench.device->call_counts()[static_cast<std::size_t>(sim::Call::allocate_host)];
  EXPECT_LT(calls, 150u) << "driver calls for 1000 requests";
  EXPECT_LE(held(bench.pinned).count, 1000 * (1_MiB).count * 17 / 16 + kPage.count);
}

TEST(SegmentRules, ASmallRequestLeavesAHugeSegmentAlone) {
  PinnedBench bench;
  { const auto huge = *bench.pinned.allocate((512_MiB).count); }
  const auto small = *bench.pinned.allocate(1024);
  const auto middle = *bench.pinned.allocate((8_MiB).count);
  EXPECT_EQ(bench.pinned.ledger().releasable.count, (512_MiB).count) << "all of it stays releasable";
  EXPECT_EQ(bench.pinned.empty_cache(), 512_MiB);
  EXPECT_LE(held(bench.pinned), 9_MiB);
}

TEST(SegmentRules, ALargeRequestIsCutFromAHugeSegment) {
  PinnedBench bench;
  { const auto huge = *bench.pinned.allocate((512_MiB).count); }
  const auto one = *bench.pinned.allocate((40_MiB).count);
  const auto two = *bench.pinned.allocate((400_MiB).count);
  EXPECT_EQ(held(bench.pinned), 512_MiB) << "both lie in it";
}

// Every live block of a walk lies in a segment of at most the size its request allows.
void expect_rule_kept(const Allocator& allocator) {
  for (const SegmentView& segment : allocator.snapshot().segments) {
    for (const BlockView& block : segment.blocks) {
      if (block.state != BlockState::live) continue;
      ASSERT_LE(segment.size, most_segment(block.size)) << "a block of " << block.size.count;
    }
  }
}

TEST(SegmentRules, NoBlockOfAProgramHoldsUpASegmentThatIsTooLarge) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    PinnedBench bench;
    std::mt19937_64 random(seed);
    std::vector<Allocation> live(40);
    for (int i = 0; i < 600; ++i) {
      Allocation& one = live[random() % live.size()];
      one.reset();
      one = *bench.pinned.allocate(random_size(random, 5, 29).count);
      if (i % 50 == 0) expect_rule_kept(bench.pinned);
    }
    expect_rule_kept(bench.pinned);
    ASSERT_EQ(bench.pinned.validate(), "");
    live.clear();
    expect_nothing_left(bench.pinned);
  }
}

// The limit leaves no room for a segment of its own, and what is cached cannot go: then any room will do.
TEST(SegmentRules, ARequestThatWouldBeRefusedTakesWhatFits) {
  Options options;
  options.memory_limit = 512_MiB;
  PinnedBench bench(options);
  { const auto huge = *bench.pinned.allocate((512_MiB).count); }
  const auto keeps = *bench.pinned.allocate((100_MiB).count);
  const auto small = bench.pinned.allocate(1024);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(held(bench.pinned), 512_MiB);
}

// Where the cached segment can go, it goes instead.
TEST(SegmentRules, TheCacheIsGivenBackBeforeTheRuleIsBroken) {
  Options options;
  options.memory_limit = 512_MiB;
  PinnedBench bench(options);
  { const auto huge = *bench.pinned.allocate((512_MiB).count); }
  const auto small = *bench.pinned.allocate(1024);
  EXPECT_LE(held(bench.pinned), 2_MiB);
}

// A driver that refuses the larger segment may still have the request's own.
TEST(SegmentRules, ASegmentForTheRequestAloneIsTheSecondChoice) {
  PinnedBench bench;
  const std::vector<Allocation> blocks = allocate_all(bench.pinned, std::vector<Bytes>(16, 16_MiB));
  const Bytes before = held(bench.pinned);
  std::vector<Allocation> more;
  while (held(bench.pinned) == before) {
    bench.device->fail(sim::Call::allocate_host, 1);
    Result<Allocation> next = bench.pinned.allocate((3_MiB).count);
    ASSERT_TRUE(next);
    more.push_back(*std::move(next));
  }
  EXPECT_EQ(held(bench.pinned) - before, 3_MiB);
}

}  // namespace
}  // namespace quarry::test
