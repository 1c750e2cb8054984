// Expandable segments when the driver fails, under random use, and with several threads.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <utility>

#include "support/expandable_bench.h"

namespace quarry {
namespace {

class ExpandableFaults : public ExpandableBench {
 protected:
  // A failing map or access call is an error, not out of memory, and leaves no trace.
  void expect_no_trace(sim::Call call, std::uint64_t nth) {
    SCOPED_TRACE(sim::kCallNames[static_cast<std::size_t>(call)]);
    open(4096_MiB);
    const Allocation a = get(5_MiB);
    const Counters before = gpu_->counters();
    const sim::Holdings held = device_->holdings();
    device_->fail(call, nth);
    const Result<Allocation> refused = gpu_->allocate((60_MiB).count);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::driver);
    EXPECT_EQ(gpu_->counters(), before);
    EXPECT_EQ(device_->holdings(), held);
    sound();
    const Allocation again = get(60_MiB);
    EXPECT_EQ(again.address(), a.address() + 5_MiB);
  }
};

TEST_F(ExpandableFaults, AFailedMapLeavesNoTrace) {
  expect_no_trace(sim::Call::map, 2);
  expect_no_trace(sim::Call::set_access, 1);
}

// Unmapped, free, unmapped: two map operations, of which the second fails.
TEST_F(ExpandableFaults, ALaterStretchThatFailsLeavesTheEarlierMapped) {
  open(4096_MiB);
  Allocation a = get(kPage);
  Allocation b = get(kPage * 2);
  const Address base = a.address();
  a.reset();
  gpu_->empty_cache();
  b.reset();
  EXPECT_EQ(reserved(), kPage * 2);
  device_->fail(sim::Call::create_page, 2, DriverCode::other);
  EXPECT_FALSE(gpu_->allocate((kPage * 5).count));
  sound();
  EXPECT_EQ(reserved(), kPage * 3);
  const Allocation whole = get(kPage * 3);
  EXPECT_EQ(whole.address(), base);
  EXPECT_EQ(reserved(), kPage * 3);
}

TEST_F(ExpandableFaults, APageTheDriverKeepsIsGivenBackLater) {
  open(4096_MiB);
  get(kPage).reset();
  device_->fail(sim::Call::destroy_page, 1, DriverCode::other);
  EXPECT_EQ(gpu_->empty_cache(), kPage);
  EXPECT_EQ(pages(), 1u);
  get(kPage).reset();
  gpu_->empty_cache();
  EXPECT_EQ(pages(), 0u);
}

TEST_F(ExpandableFaults, WhatCannotBeUnmappedStaysCached) {
  open(4096_MiB);
  get(kPage * 3).reset();
  device_->fail(sim::Call::unmap, 2, DriverCode::other);
  EXPECT_EQ(gpu_->empty_cache(), kPage);
  sound();
  EXPECT_EQ(reserved(), kPage * 2);
  const Allocation a = get(kPage * 2);
  EXPECT_EQ(pages(), 2u);
}

// Two classes and streams, holes, a full device that unmaps to map elsewhere, a switch at run time.
void exercise(Allocator& gpu) {
  const Stream other = gpu.stream(reinterpret_cast<void*>(0x100));
  std::map<int, Allocation> live;
  const auto take = [&](int id, Bytes size, Stream stream = {}) {
    if (Result<Allocation> got = gpu.allocate(size.count, stream)) {
      live[id] = *std::move(got);
    } else {
      EXPECT_TRUE(got.error().code == ErrorCode::out_of_memory || got.error().code == ErrorCode::driver);
    }
    EXPECT_EQ(gpu.validate(), "");
  };
  take(0, 30_MiB);
  take(1, 700_B);
  take(2, 50_MiB);
  take(3, 5_MiB);
  live.erase(2);
  gpu.empty_cache();
  EXPECT_EQ(gpu.validate(), "");
  take(4, 90_MiB, other);
  take(5, 60_MiB);
  live.erase(4);
  live.erase(0);
  take(6, 120_MiB);
  (void)gpu.configure("expandable_segments:False");
  live.erase(6);
  take(7, 100_MiB);
  live.clear();
  gpu.empty_cache();
  EXPECT_EQ(gpu.validate(), "");
}

TEST_F(ExpandableFaults, AtEveryCall) {
  open(240_MiB);
  exercise(*gpu_);
  const auto made = device_->call_counts();
  for (const sim::Call call :
       {sim::Call::reserve, sim::Call::unreserve, sim::Call::create_page, sim::Call::destroy_page, sim::Call::map,
        sim::Call::set_access, sim::Call::unmap, sim::Call::synchronize_stream, sim::Call::allocate_segment,
        sim::Call::release_segment}) {
    const std::uint64_t count = made[static_cast<std::size_t>(call)];
    ASSERT_GT(count, 0u);
    for (std::uint64_t nth = 1; nth <= count; ++nth) {
      for (const bool repeat : {false, true}) {
        SCOPED_TRACE(std::string(sim::kCallNames[static_cast<std::size_t>(call)]) + " number " + std::to_string(nth));
        open(240_MiB);
        device_->fail(call, nth, nth % 2 == 0 ? DriverCode::other : DriverCode::out_of_memory, repeat);
        exercise(*gpu_);
        device_->fail(call, 0);
        (void)gpu_->configure("expandable_segments:True");
        EXPECT_TRUE(gpu_->allocate((30_MiB).count)) << "the next request works";
        TearDown();
      }
    }
  }
}

TEST_F(ExpandableFaults, RandomUseKeepsEveryInvariant) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    open(600_MiB);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::map<std::uint64_t, Allocation> live;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t id = below(24);
      switch (below(12)) {
        case 0:
          gpu_->empty_cache();
          break;
        case 1:
          configure(below(3) == 0 ? "expandable_segments:False" : "expandable_segments:True");
          break;
        case 2:
        case 3:
        case 4:
        case 5:
          live.erase(id);
          break;
        default: {
          const Bytes size{below(2) == 0 ? 1 + below(1u << 20) : 1 + below(90u << 20)};
          if (Result<Allocation> got = gpu_->allocate(size.count, stream(below(2) * 0x100))) live[id] = *std::move(got);
        }
      }
      ASSERT_EQ(gpu_->validate(), "") << "seed " << seed << ", step " << step;
      const Ledger ledger = gpu_->ledger();
      ASSERT_EQ(ledger.active() + ledger.releasable + ledger.stranded, ledger.reserved);
    }
    live.clear();
    const Bytes releasable = gpu_->ledger().releasable;
    EXPECT_EQ(gpu_->empty_cache(), releasable);
    EXPECT_EQ(reserved(), 0_B);
    TearDown();
  }
}

// The heap lock is dropped around driver calls, so one thread's hits meet another's growth and shrinking.
TEST_F(ExpandableFaults, ThreadsGrowAndShrinkTogether) {
  open(400_MiB);
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([this, seed] {
      std::mt19937_64 random(seed);
      std::map<std::uint64_t, Allocation> live;
      for (int step = 0; step < 2000; ++step) {
        const std::uint64_t id = random() % 6;
        live.erase(id);
        if (random() % 50 == 0) gpu_->empty_cache();
        const std::uint64_t size = random() % 3 == 0 ? 1 + random() % 4000 : 1 + random() % (30u << 20);
        if (Result<Allocation> got = gpu_->allocate(size)) live[id] = *std::move(got);
        if (step % 100 == 0) {
          EXPECT_EQ(gpu_->validate(), "");
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  gpu_->empty_cache();
  EXPECT_EQ(reserved(), 0_B);
}

}  // namespace
}  // namespace quarry
