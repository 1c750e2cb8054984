// Numbers that add up (DESIGN.md section 7), and the judge of them: each breach it is there for must be found.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/identities.h"
#include "support/operation_subject.h"

namespace quarry::oracle {
namespace {

using namespace literals;

constexpr std::uint64_t kMiB = 1ull << 20;

// One segment of 2 MiB: a live block of 1 MiB (1,000,000 requested) and a free one.
Snapshot sound() {
  SegmentView segment;
  segment.address = {0x10000};
  segment.size = 2_MiB;
  segment.blocks.push_back({{0x10000}, 1_MiB, 1000000_B, BlockState::live, {}});
  segment.blocks.push_back({Address{0x10000} + 1_MiB, 1_MiB, {}, BlockState::free, {}});
  Snapshot snapshot;
  snapshot.segments.push_back(std::move(segment));
  return snapshot;
}

const std::vector<LiveBlock> kLive = {{{0x10000}, 1_MiB, 1000000_B}};

TEST(Identities, TheJudgeFindsABrokenLayout) {
  EXPECT_EQ(broken_layout(sound(), kLive), "");
  const auto breach = [](auto&& change) {
    Snapshot snapshot = sound();
    change(snapshot);
    return broken_layout(snapshot, kLive);
  };
  EXPECT_NE(breach([](Snapshot& s) { s.segments[0].blocks[1].address.value -= 512; }), "") << "overlap";
  EXPECT_NE(breach([](Snapshot& s) { s.segments[0].blocks[1].size = 512_KiB; }), "") << "hole at the end";
  EXPECT_NE(breach([](Snapshot& s) { s.segments[0].blocks[0].size = 1000000_B; }), "") << "off the grid";
  EXPECT_NE(breach([](Snapshot& s) { s.segments[0].blocks[0].state = BlockState::free; }), "") << "free neighbours";
  EXPECT_NE(breach([](Snapshot& s) { s.segments[0].blocks[0].requested = 3_MiB; }), "") << "block below its request";
  EXPECT_NE(breach([](Snapshot& s) { s.segments.push_back(s.segments[0]); }), "") << "segments overlap";
  EXPECT_NE(breach([](Snapshot& s) { s.segments.clear(); }), "") << "live block nowhere";
  EXPECT_NE(broken_layout(sound(), {}), "") << "live block nobody owns";
}

TEST(Identities, TheJudgeFindsWrongNumbers) {
  Subject subject({.capacity = 100 * kMiB});
  ASSERT_EQ(subject.apply(Allocate{0, 1'000'000}).kind, Kind::placed);
  ASSERT_EQ(subject.apply(Allocate{1, 30 * kMiB}).kind, Kind::placed);
  const Allocator& allocator = subject.allocator();
  const Snapshot snapshot = allocator.snapshot();
  const Counters right = allocator.counters();
  ASSERT_EQ(broken_counters(right, snapshot), "");
  ASSERT_EQ(broken_ledger(allocator.ledger(), right, snapshot), "");
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    Counters wrong = right;
    wrong.metrics[i].large_pool.current += 512;
    EXPECT_NE(broken_counters(wrong, snapshot), "") << kMetricNames[i];
    wrong = right;
    wrong.metrics[i].all.allocated += 1;
    EXPECT_NE(broken_counters(wrong, snapshot), "") << kMetricNames[i];
    EXPECT_NE(broken_flow(wrong, {}), "") << kMetricNames[i];
  }
  for (Bytes Ledger::*figure : {&Ledger::requested, &Ledger::allocated, &Ledger::pending, &Ledger::reserved,
                                &Ledger::releasable, &Ledger::stranded, &Ledger::largest_free}) {
    Ledger wrong = allocator.ledger();
    wrong.*figure += 512_B;
    EXPECT_NE(broken_ledger(wrong, right, snapshot), "");
  }
}

TEST(Identities, TheLedgerOfAKnownState) {
  Subject subject({.capacity = 100 * kMiB});
  (void)subject.apply(Allocate{0, 1'000});     // 2 MiB small segment
  (void)subject.apply(Allocate{1, 3 * kMiB});  // 20 MiB large segment
  (void)subject.apply(Allocate{2, 30 * kMiB});
  (void)subject.apply(Free{2});
  const Ledger ledger = subject.allocator().ledger();
  EXPECT_EQ(ledger.requested, Bytes{1'000} + 3_MiB);
  EXPECT_EQ(ledger.allocated, 1024_B + 3_MiB);
  EXPECT_EQ(ledger.rounding(), 24_B);
  EXPECT_EQ(ledger.reserved, 52_MiB);
  EXPECT_EQ(ledger.releasable, 30_MiB);
  EXPECT_EQ(ledger.stranded, 19_MiB - 1024_B);
  EXPECT_EQ(ledger.largest_free, 30_MiB);
  EXPECT_EQ(ledger.peak_requested, Bytes{1'000} + 33_MiB);
  EXPECT_EQ(ledger.device_free, 48_MiB);
  EXPECT_EQ(ledger.outside(), 0_B);
  EXPECT_EQ(subject.apply(EmptyCache{}).released, (30_MiB).count);
  EXPECT_EQ(subject.broken(), "");
}

TEST(Identities, ResetPeakAndAccumulated) {
  Subject subject({.capacity = 100 * kMiB});
  (void)subject.apply(Allocate{0, 30 * kMiB});
  (void)subject.apply(Allocate{1, 700});
  (void)subject.apply(Free{0});
  Allocator& allocator = subject.allocator();
  const Counters before = allocator.counters();
  EXPECT_EQ(before[Metric::allocated_bytes].all.peak, static_cast<std::int64_t>(30 * kMiB + 1024));
  (void)subject.apply(ResetPeak{});
  EXPECT_EQ(allocator.counters()[Metric::allocated_bytes].all.peak, 1024);
  EXPECT_EQ(allocator.counters()[Metric::allocated_bytes].all.allocated, before[Metric::allocated_bytes].all.allocated);
  EXPECT_EQ(allocator.ledger().peak_requested, 700_B);
  (void)subject.apply(ResetAccumulated{});
  EXPECT_EQ(allocator.counters()[Metric::allocated_bytes].all, (Stat{1024, 1024, 0, 0}));
  EXPECT_EQ(allocator.counters()[Tally::num_device_alloc], 0u);
  (void)subject.apply(Free{1});
  EXPECT_EQ(allocator.counters()[Metric::allocated_bytes].all, (Stat{0, 1024, 0, 1024}));
  EXPECT_EQ(subject.broken_end(), "");
}

TEST(Identities, LargestAvailable) {
  Subject subject({.capacity = 100 * kMiB});
  EXPECT_EQ(subject.allocator().largest_available(), 100_MiB);
  (void)subject.apply(Allocate{0, 60 * kMiB});
  EXPECT_EQ(subject.allocator().largest_available(), 40_MiB);
  (void)subject.apply(Free{0});
  EXPECT_EQ(subject.allocator().largest_available(), 60_MiB);
}

}  // namespace
}  // namespace quarry::oracle
