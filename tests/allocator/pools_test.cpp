// Private pools: which requests they take, how long they live, what they lend, and what a capture holds back.
#include <thread>
#include <utility>

#include "support/expandable_bench.h"

namespace quarry {
namespace {

using sim::Call;

constexpr PoolId kPool{0, 1};
constexpr PoolId kOther{0, 2};

void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class Pools : public ExpandableBench {
 protected:
  void SetUp() override { open(1_GiB, "tie_break:segment"); }

  // The pool of the segment that holds the block.
  PoolId pool_of(const Allocation& block) {
    for (const SegmentView& segment : gpu_->snapshot().segments) {
      const bool inside = block.address() >= segment.address && block.address() - segment.address < segment.size;
      if (inside) return segment.pool;
    }
    ADD_FAILURE() << "in no segment";
    return {};
  }
  std::uint64_t users(PoolId id) {
    const Result<std::uint64_t> count = gpu_->pool_use_count(id);
    EXPECT_TRUE(count);
    return count ? *count : 0;
  }
  void begin(PoolId id, PoolScope scope = PoolScope::process, Stream on = {}) {
    EXPECT_TRUE(gpu_->begin_pool(id, scope, on));
  }
  void end(PoolId id) { EXPECT_TRUE(gpu_->end_pool(id)); }
  void release(PoolId id) { EXPECT_TRUE(gpu_->release_pool(id)); }
};

TEST_F(Pools, AScopeTakesRequestsUntilItsEnd) {
  begin(kPool);
  const Allocation inside = get(1_MiB);
  end(kPool);
  const Allocation outside = get(1_MiB);
  EXPECT_EQ(pool_of(inside), kPool);
  EXPECT_EQ(pool_of(outside), kDefaultPool);
  const Result<Counters> own = gpu_->counters(kPool);
  ASSERT_TRUE(own);
  EXPECT_EQ((*own)[Metric::allocation].all.current, 1);
  EXPECT_EQ(gpu_->counters()[Metric::allocation].all.current, 2);
  EXPECT_FALSE(gpu_->end_pool(kPool)) << "no scope is open";
}

// The ladder gives back what released pools hold; the one whose request climbs it must not go away below it.
TEST_F(Pools, OneThatIsReleasedWhileItAsksForMemoryStays) {
  const Allocation held = get(600_MiB);
  begin(kPool);
  gpu_->add_reclaim_callback([&] {
    if (gpu_->end_pool(kPool)) release(kPool);
    return true;
  });
  const Result<Allocation> refused = gpu_->allocate((600_MiB).count);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(gpu_->validate(), "");
  EXPECT_TRUE(gpu_->allocate((100_MiB).count));
}

TEST_F(Pools, TheLastScopeThatMatchesWins) {
  const Stream one = stream(1);
  begin(kPool);
  begin(kOther, PoolScope::stream, one);
  EXPECT_EQ(pool_of(get(1_MiB)), kPool);
  EXPECT_EQ(pool_of(get(1_MiB, one)), kOther);
  end(kOther);
  EXPECT_EQ(pool_of(get(1_MiB, one)), kPool);
  end(kPool);
}

TEST_F(Pools, AThreadScopeIsThatThreadsOnly) {
  begin(kPool, PoolScope::thread);
  Allocation elsewhere;
  std::thread([&] { elsewhere = get(1_MiB); }).join();
  const Allocation here = get(1_MiB);
  EXPECT_EQ(pool_of(elsewhere), kDefaultPool);
  EXPECT_EQ(pool_of(here), kPool);
  end(kPool);
}

TEST_F(Pools, ARequestMayNameItsPool) {
  ASSERT_TRUE(gpu_->create_pool(kPool));
  const Result<Allocation> block = gpu_->allocate({.size = 1_MiB, .pool = kPool});
  ASSERT_TRUE(block);
  EXPECT_EQ(pool_of(*block), kPool);
  const Result<Allocation> unknown = gpu_->allocate({.size = 1_MiB, .pool = kOther});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid);
  EXPECT_FALSE(gpu_->counters(kOther));  // asking for it made none
}

TEST_F(Pools, UsersAreCounted) {
  EXPECT_FALSE(gpu_->pool_use_count(kPool));
  EXPECT_FALSE(gpu_->release_pool(kPool));
  EXPECT_FALSE(gpu_->create_pool(kDefaultPool));
  ASSERT_TRUE(gpu_->create_pool(kPool));
  begin(kPool);
  EXPECT_EQ(users(kPool), 2u);
  end(kPool);
  EXPECT_EQ(users(kPool), 2u) << "the user that begin_pool counted stays";
  release(kPool);
  release(kPool);
  EXPECT_EQ(users(kPool), 0u);
  EXPECT_FALSE(gpu_->release_pool(kPool));
}

TEST_F(Pools, AReleasedPoolEndsAtTheNextEmptyCache) {
  begin(kPool);
  Allocation live = get(1_MiB);
  { const Allocation freed = get(40_MiB); }
  end(kPool);
  EXPECT_EQ(gpu_->empty_cache(), 0_B) << "a pool in use keeps its segments";
  release(kPool);
  EXPECT_EQ(gpu_->empty_cache(), 40_MiB);
  EXPECT_FALSE(gpu_->begin_pool(kPool)) << "it still holds a segment";
  EXPECT_EQ(users(kPool), 0u);
  EXPECT_EQ(live.size(), (1_MiB).count);
  live.reset();
  EXPECT_EQ(gpu_->empty_cache(), 2_MiB);
  EXPECT_FALSE(gpu_->pool_use_count(kPool));
  begin(kPool);
  end(kPool);
}

TEST_F(Pools, OneReleasedPoolMayBeEmptied) {
  for (const PoolId id : {kPool, kOther}) {
    begin(id);
    { const Allocation freed = get(40_MiB); }
    end(id);
  }
  EXPECT_EQ(*gpu_->empty_pool(kPool), 0_B) << "in use";
  release(kPool);
  release(kOther);
  EXPECT_EQ(*gpu_->empty_pool(kPool), 40_MiB);
  EXPECT_EQ(reserved(), 40_MiB);
}

TEST_F(Pools, NoSplitKeepsOneRequestPerSegment) {
  ASSERT_TRUE(gpu_->create_pool(kPool));
  ASSERT_TRUE(gpu_->set_pool_no_split(kPool));
  EXPECT_FALSE(gpu_->set_pool_no_split(kOther));
  begin(kPool);
  const Allocation one = get(1_MiB);
  const Allocation two = get(1_MiB);
  end(kPool);
  EXPECT_EQ(gpu_->ledger().segments, 2u);
}

TEST_F(Pools, UseOnOomLendsToTheDefaultPool) {
  open(100_MiB, "tie_break:segment");
  begin(kPool);
  const Address lent = get(60_MiB).address();
  end(kPool);
  EXPECT_FALSE(gpu_->allocate((60_MiB).count));
  gpu_->set_pool_use_on_oom(kPool);
  const Allocation borrowed = get(60_MiB);
  EXPECT_EQ(borrowed.address(), lent);
  EXPECT_EQ(pool_of(borrowed), kPool);
}

// BR-04: a pool that is in use does not look at its own cached segments before it gives up.
TEST_F(Pools, CloseHolesReleasesTheOwnCache) {
  for (const bool close : {false, true}) {
    SCOPED_TRACE(close);
    open(80_GiB, close ? "close_holes:True" : "close_holes:False");
    ASSERT_TRUE(gpu_->create_pool(kPool));
    begin(kPool);
    { const Allocation first = get(60_GiB); }
    const Result<Allocation> second = gpu_->allocate((70_GiB).count);
    EXPECT_EQ(static_cast<bool>(second), close);
    EXPECT_EQ(reserved(), close ? 70_GiB : 60_GiB);
    end(kPool);
  }
}

class Captures : public Pools {
 protected:
  // The calling thread captures its work on stream 1 into kPool.
  void begin_capture() {
    gpu_->make_current(stream(1));
    begin(kPool);
    ASSERT_TRUE(device_->begin_capture(handle(1)));
  }
  void end_capture() {
    ASSERT_TRUE(device_->end_capture(handle(1)));
    end(kPool);
    gpu_->make_current(Stream{});
  }
};

TEST_F(Captures, BlocksOfOtherStreamsAreParkedUntilItIsOver) {
  begin_capture();
  ASSERT_TRUE(device_->join_capture(handle(2)));
  Allocation block = get(10_MiB, stream(1));
  const Address address = block.address();
  block.used_on(stream(2));
  block.reset();
  EXPECT_EQ(gpu_->ledger().pending, 10_MiB);
  const Allocation meanwhile = get(10_MiB, stream(1));
  EXPECT_NE(meanwhile.address(), address);
  end_capture();
  EXPECT_EQ(gpu_->ledger().pending, 10_MiB) << "taken up by the next request, not by the end";
  { const Allocation next = get(1_MiB); }
  EXPECT_EQ(gpu_->ledger().pending, 0_B);
  for (const Call call : {Call::create_event, Call::record, Call::query, Call::wait_on_host}) {
    EXPECT_EQ(calls(call), 0u) << sim::kCallNames[static_cast<std::size_t>(call)];
  }
}

TEST_F(Captures, WhatWasUsedBeforeGetsItsEventAfterwards) {
  Allocation block = get(10_MiB);
  device_->hold(handle(2));
  device_->work(handle(2), 1000, {}, {{block.address(), 10_MiB}});
  block.used_on(stream(2));
  begin_capture();
  block.reset();
  EXPECT_EQ(calls(Call::record), 0u);
  end_capture();
  { const Allocation next = get(1_MiB); }
  EXPECT_EQ(calls(Call::record), 1u);
  EXPECT_EQ(gpu_->ledger().pending, 10_MiB);
  device_->complete(handle(2));
  device_->advance(1'000'000);
  { const Allocation next = get(1_MiB); }
  EXPECT_EQ(gpu_->ledger().pending, 0_B);
}

// What the capture's own requests may get is decided by its own thread alone.
TEST_F(Captures, TheyStayParkedWhateverOtherThreadsDo) {
  begin_capture();
  ASSERT_TRUE(device_->join_capture(handle(2)));
  Allocation block = get(10_MiB, stream(1));
  block.used_on(stream(2));
  block.reset();
  std::thread([&] {
    { const Allocation request = get(1_MiB); }
    gpu_->empty_cache();
  }).join();
  EXPECT_EQ(gpu_->ledger().pending, 10_MiB);
  end_capture();
  std::thread([&] { const Allocation request = get(1_MiB); }).join();
  EXPECT_EQ(gpu_->ledger().pending, 0_B);
}

// Its work is not part of the graph: it is queued, and has to be waited for.
TEST_F(Captures, AStreamThatTakesNoPartGetsItsEventAfterwards) {
  Allocation block = get(10_MiB);
  begin_capture();
  device_->hold(handle(2));
  device_->work(handle(2), 1000, {}, {{block.address(), 10_MiB}});
  block.used_on(stream(2));
  block.reset();
  end_capture();
  { const Allocation next = get(1_MiB); }
  EXPECT_EQ(calls(Call::record), 1u);
  EXPECT_EQ(gpu_->ledger().pending, 10_MiB);
  device_->complete(handle(2));
  device_->advance(1'000'000);
  { const Allocation next = get(1_MiB); }
  EXPECT_EQ(gpu_->ledger().pending, 0_B);
}

// A thread that does not see the capture frees a block that the capturing stream used: the event is caught in the
// capture and can never be asked for.
TEST_F(Captures, AnEventCaughtInItDoesNotHoldItsBlockForGood) {
  Allocation block = get(10_MiB);
  begin_capture();
  gpu_->make_current(Stream{});
  block.used_on(stream(1));
  block.reset();
  EXPECT_EQ(calls(Call::record), 1u);
  { const Allocation next = get(1_MiB); }
  EXPECT_EQ(gpu_->ledger().pending, 10_MiB);
  end_capture();
  gpu_->empty_cache();
  EXPECT_EQ(gpu_->ledger().pending, 0_B);
}

TEST_F(Captures, NothingOfTheDefaultPoolIsGivenBack) {
  { const Allocation cached = get(40_MiB); }
  begin_capture();
  EXPECT_EQ(gpu_->empty_cache(), 0_B);
  EXPECT_FALSE(gpu_->empty_pool(kPool));
  EXPECT_EQ(reserved(), 40_MiB);
  Bytes elsewhere;
  std::thread([&] { elsewhere = gpu_->empty_cache(); }).join();
  EXPECT_EQ(elsewhere, 40_MiB) << "a thread that does not capture is not bound";
  end_capture();
}

// A scope can outlive its pool; its requests are refused then.
TEST_F(Pools, a_scope_without_its_pool_serves_nothing) {
  begin(kPool);
  release(kPool);
  gpu_->empty_cache();
  const Result<Allocation> block = gpu_->allocate((1_MiB).count);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code, ErrorCode::invalid);
  end(kPool);
  EXPECT_TRUE(gpu_->allocate((1_MiB).count));
}

}  // namespace
}  // namespace quarry
