// Corners of the paged policy that generated programs rarely reach, one test each.
#include <string>
#include <utility>
#include <vector>

#include "support/expandable_bench.h"

namespace quarry {
namespace {

using sim::Call;

class PagedEdges : public ExpandableBench {
 protected:
  static constexpr Bytes kPageSize = 2_MiB;

  void open_paged(Bytes capacity, const std::string& more = "placement:tight") {
    open(capacity, "policy:paged," + more);
  }
  Bytes refused(Bytes size) {
    const Result<Allocation> got = gpu_->allocate(size.count);
    EXPECT_TRUE(!got && got.error().code == ErrorCode::out_of_memory);
    sound();
    return reserved();
  }
};

TEST_F(PagedEdges, MoreThanAnyMachineHasIsRefusedAtOnce) {
  for (const char* placement : {"placement:tight", "placement:fast"}) {
    open_paged(kUnlimited, placement);
    const Allocation small = get(1_MiB);
    for (const Bytes size : {Bytes{1ull << 45}, Bytes{1ull << 50}, Bytes{(1ull << 60) - 1}}) {
      EXPECT_EQ(refused(size), kPageSize);
    }
    EXPECT_FALSE(gpu_->allocate_raw(1ull << 63));
    EXPECT_EQ(calls(Call::create_page), 1u) << "no page was asked for in vain";
  }
}

// The arena's addresses are for the device as it was.
TEST_F(PagedEdges, ADeviceThatGrowsBeyondTheArenaIsFullThere) {
  open_paged(8_MiB);
  const Allocation first = get(3_MiB);
  device_->set_capacity(1024_MiB);
  EXPECT_EQ(refused(500_MiB), kPageSize * 2);
  std::vector<Allocation> more;
  while (more.size() < 200) {
    Result<Allocation> got = gpu_->allocate((5_MiB).count);
    if (!got) break;
    more.push_back(*std::move(got));
  }
  EXPECT_GE(more.size(), 1u);
  EXPECT_LT(more.size(), 200u);
  const Allocation last = get(512_B);
}

// A run needs addresses in one piece, and blocks that stay lie between those that are free.
TEST_F(PagedEdges, ARunFindsAddressesBetweenBlocksThatStay) {
  for (const char* placement : {"placement:tight", "placement:fast"}) {
    open_paged(kPageSize * 9, placement);
    const Allocation low = get(kPageSize * 4);
    Allocation middle = get(kPageSize * 3);
    const Allocation high = get(512_B);
    middle.reset();
    const Result<Allocation> run = gpu_->allocate(Request{.size = kPageSize * 4, .contiguous = true});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(reserved(), kPageSize * 9);
  }
}

// A block that an event sets free goes through a front cache; the request that waited for it finds its page whole.
TEST_F(PagedEdges, WhatAWaitSetsFreeIsNotLeftInAFrontCache) {
  open_paged(kPageSize * 2);
  Allocation pending = get(512_B);
  get(1_MiB).reset();
  void* const other = device_->create_stream();
  device_->work(other, 1'000'000'000, {{pending.address(), 512_B}});
  pending.used_on(gpu_->stream(other));
  pending.reset();
  const Allocation all = get(kPageSize * 2);
  EXPECT_EQ(calls(Call::unmap), 0u);
}

// Free extents of one size class that are too small hide none of the larger ones.
TEST_F(PagedEdges, ACrowdOfSmallerExtentsHidesNoFit) {
  open_paged(4096_MiB);
  Allocation large = get(kPageSize * 20);
  std::vector<Allocation> halves;
  for (int i = 0; i < 300; ++i) halves.push_back(get(1_MiB));
  for (std::size_t i = 0; i < halves.size(); i += 2) halves[i].reset();
  large.reset();
  const Bytes before = reserved();
  const Allocation block = get(1_MiB + 512_B);
  EXPECT_EQ(reserved(), before);
}

// Nor do extents that are long enough for a run but do not lie on pages.
TEST_F(PagedEdges, ACrowdOfExtentsOffThePagesHidesNoRun) {
  open_paged(4096_MiB, "placement:fast");
  const Allocation first = get(1_MiB);
  std::vector<Allocation> pages;
  for (int i = 0; i < 300; ++i) pages.push_back(get(kPageSize));
  Allocation last = get(kPageSize * 3);
  for (std::size_t i = 0; i < pages.size(); i += 2) pages[i].reset();
  last.reset();
  const Bytes before = reserved();
  const Result<Allocation> run = gpu_->allocate(Request{.size = kPageSize, .contiguous = true});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(reserved(), before);
}

// What a failed wait kept from going back is what it was, seen once by whoever may use it.
TEST_F(PagedEdges, RangesKeptByAFailedWaitAreSeenOnce) {
  open_paged(1024_MiB);
  void* const handles[] = {device_->create_stream(), device_->create_stream()};
  const Stream one = gpu_->stream(handles[0]);
  const Stream two = gpu_->stream(handles[1]);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(get(kPageSize * 2, one));
  const Allocation other = get(kPageSize, two);
  for (Allocation& block : blocks) {
    device_->work(handles[0], 1'000'000'000, {{block.address(), kPageSize}});
    block.reset();
  }
  for (const Call call : {Call::synchronize_stream, Call::synchronize_device}) {
    device_->fail(call, 1, DriverCode::other, true);
  }
  EXPECT_EQ(gpu_->empty_cache(), 0_B);
  sound();
  for (const Call call : {Call::synchronize_stream, Call::synchronize_device}) device_->fail(call, 0);
  const EventHandle event = device_->create_event().value;
  (void)device_->record(event, handles[0]);
  (void)device_->wait_on_stream(handles[1], event);
  (void)device_->destroy_event(event);
  gpu_->note_wait(two, one);
  sound();
  const Bytes before = reserved();
  const Allocation all = get(kPageSize * 8, two);
  EXPECT_EQ(reserved(), before);
}

// Addresses that the driver keeps at first are given back later.
TEST_F(PagedEdges, AddressesOfAnAliasTheDriverKeepsAreGivenBackLater) {
  for (const Call call : {Call::unreserve, Call::set_access}) {
    open_paged(1024_MiB, "placement:fast");
    std::vector<Allocation> pages;
    for (int i = 0; i < 8; ++i) pages.push_back(get(kPageSize));
    for (std::size_t i = 0; i < pages.size(); i += 2) pages[i].reset();
    if (call == Call::set_access) device_->fail(call, 1, DriverCode::other);
    device_->fail(Call::unreserve, 1, DriverCode::other);
    get(kPageSize * 4).reset();
    pages.clear();
    EXPECT_EQ(gpu_->empty_cache(), kPageSize * (call == Call::set_access ? 12 : 8));
    EXPECT_EQ(gpu_->counters()[Tally::num_alias_maps], 1u);
    TearDown();
  }
}

}  // namespace
}  // namespace quarry
