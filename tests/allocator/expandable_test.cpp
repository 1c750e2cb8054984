// Expandable segments: where they grow, what goes back, what they count. The recorded answers are judged by the
// conformance cases; here is what those do not reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "support/expandable_bench.h"

namespace quarry {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Expandable : public ExpandableBench {};

// Growth -------------------------------------------------------------------------------------------------------------

TEST_F(Expandable, OneSegmentGrowsPageByPage) {
  open(4096_MiB);
  const Allocation a = get(5_MiB);
  EXPECT_EQ(reserved(), kPage);
  const Allocation b = get(45_MiB);
  EXPECT_EQ(b.address(), a.address() + 5_MiB);
  EXPECT_EQ(reserved(), kPage * 3);
  EXPECT_EQ(reservations(), 1u);
  EXPECT_EQ(gpu_->counters()[Metric::segment].all.current, 0);
  EXPECT_EQ(gpu_->counters()[Tally::num_device_alloc], 2u);
}

TEST_F(Expandable, ALargeBlockIsCutToTheByte) {
  open(4096_MiB);
  const Allocation a = get(kPage - 1_MiB);
  EXPECT_EQ(a.block_size(), (kPage - 1_MiB).count);
}

TEST_F(Expandable, EachStreamAndClassHasItsOwn) {
  open(4096_MiB);
  const Allocation a = get(5_MiB);
  const Allocation b = get(5_MiB, stream(0x100));
  const Allocation c = get(1000_B);
  EXPECT_EQ(reservations(), 3u);
  EXPECT_EQ(reserved(), kPage * 2 + 2_MiB);
}

// Hands out the next reservation below the one before.
struct Downwards final : sim::AddressScript {
  Address next(Bytes) override { return {}; }
  Address next_reservation(Bytes size) override {
    const Address below = top - (size + 64_MiB);
    return top = Address{below.value & ~((2_MiB).count - 1)};
  }
  Address top{1ull << 45};
};

TEST_F(Expandable, AYoungerReservationAtALowerAddressGrowsFirst) {
  Downwards script;
  open(1000_MiB, "expandable_segments:True", &script);
  const Allocation first = get(900_MiB);
  device_->set_capacity(8000_MiB);  // the first reservation, 1125 MiB in pages, is too short for both
  const Allocation second = get(400_MiB);
  ASSERT_LT(second.address(), first.address());
  const Allocation third = get(100_MiB);
  EXPECT_EQ(third.address(), second.address() + 400_MiB);
}

TEST_F(Expandable, TheSizeOfAPageBelongsToTheSegment) {
  open(4096_MiB);
  const Allocation a = get(15_MiB);
  configure("expandable_segments:True,large_segment_size_mb:64");
  const Allocation b = get(15_MiB);
  EXPECT_EQ(reserved(), kPage * 2);
  const Allocation c = get(15_MiB, stream(0x100));
  EXPECT_EQ(reserved(), kPage * 2 + 64_MiB);
}

TEST_F(Expandable, ARequestAboveTheReservationIsRefusedWithoutACall) {
  open(1000_MiB);
  const Result<Allocation> got = gpu_->allocate((1200_MiB).count);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::out_of_memory);
  EXPECT_THAT(call_names(), IsEmpty());
}

// Shrinking ----------------------------------------------------------------------------------------------------------

TEST_F(Expandable, WhatTheLedgerCallsReleasableIsWhatGoesBack) {
  open(4096_MiB);
  const Allocation head = get(5_MiB);
  Allocation middle = get(70_MiB);
  const Allocation tail = get(5_MiB);
  middle.reset();
  const Ledger before = gpu_->ledger();
  EXPECT_EQ(before.releasable, kPage * 2);  // 20..60 of 5..75
  EXPECT_EQ(before.stranded, 30_MiB);       // 5..20, 60..75
  EXPECT_EQ(gpu_->empty_cache(), before.releasable);
  EXPECT_EQ(gpu_->ledger().stranded, 30_MiB);
  EXPECT_EQ(gpu_->ledger().releasable, 0_B);
  EXPECT_EQ(reserved(), kPage * 2);
  const Snapshot snapshot = gpu_->snapshot();
  ASSERT_EQ(snapshot.segments.size(), 2u);
  EXPECT_TRUE(snapshot.segments[0].expandable);
  EXPECT_EQ(snapshot.segments[0].number, snapshot.segments[1].number);
  EXPECT_EQ(snapshot.segments[1].address, head.address() + kPage * 3);
}

TEST_F(Expandable, TheStreamIsWaitedForOnlyWhereAPageGoes) {
  open(4096_MiB);
  const Stream other = stream(0x100);
  Allocation a = get(5_MiB, other);
  Allocation b = get(5_MiB, other);
  a.reset();
  call_names();
  gpu_->empty_cache();
  EXPECT_THAT(call_names(), IsEmpty());
  b.reset();
  device_->work(reinterpret_cast<void*>(0x100), 1000, {}, {{Address{a.address()}, 0_B}});
  gpu_->empty_cache();
  EXPECT_THAT(call_names(), ElementsAre("synchronize_stream", "unmap", "destroy_page", "unreserve"));
}

TEST_F(Expandable, QueuedWorkIsDoneBeforeItsPageGoes) {
  open(4096_MiB);
  void* const handle = reinterpret_cast<void*>(0x100);
  Allocation a = get(kPage, gpu_->stream(handle));
  device_->work(handle, 1'000'000, {}, {{a.address(), kPage}});
  a.reset();
  EXPECT_EQ(gpu_->empty_cache(), kPage);
  EXPECT_TRUE(device_->idle());  // and TearDown looks for hazards
}

TEST_F(Expandable, ARetiredStreamNeedsNoWait) {
  open(4096_MiB);
  const Stream other = stream(0x100);
  get(kPage, other).reset();
  gpu_->retire(other);
  call_names();
  EXPECT_EQ(gpu_->empty_cache(), kPage);
  EXPECT_THAT(call_names(), ElementsAre("unmap", "destroy_page", "unreserve"));
}

TEST_F(Expandable, AReservationThatNeverHeldAPageStaysUntilTheEnd) {
  open(4096_MiB);
  device_->fail(sim::Call::create_page, 1, DriverCode::out_of_memory, true);
  EXPECT_FALSE(gpu_->allocate((30_MiB).count));
  EXPECT_EQ(reservations(), 1u);
  EXPECT_EQ(gpu_->empty_cache(), 0_B);
  EXPECT_EQ(reservations(), 1u);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(Expandable, TheAddressesOfAReleasedPoolGoWithIt) {
  open(4096_MiB);
  const PoolId pool{0, 7};
  ASSERT_TRUE(gpu_->begin_pool(pool));
  device_->fail(sim::Call::create_page, 1, DriverCode::out_of_memory, true);
  EXPECT_FALSE(gpu_->allocate((30_MiB).count));
  device_->fail(sim::Call::create_page, 0);
  ASSERT_TRUE(gpu_->end_pool(pool));
  ASSERT_TRUE(gpu_->release_pool(pool));
  gpu_->empty_cache();
  EXPECT_EQ(reservations(), 0u);
  EXPECT_TRUE(gpu_->create_pool(pool)) << "the pool is gone, so that its id may be used again";
}

// The option at run time ---------------------------------------------------------------------------------------------

TEST_F(Expandable, WithTheOptionOnAPlainBlockIsCutToTheByteToo) {
  open(4096_MiB, "expandable_segments:False");
  get(30_MiB).reset();
  configure("expandable_segments:True,max_split_size_mb:20");
  const Allocation a = get(30_MiB - 512_B);
  EXPECT_EQ(a.block_size(), (30_MiB - 512_B).count);
}

TEST_F(Expandable, ALenderOffersPlainBlocksOnly) {
  open(100_MiB);
  const PoolId pool{0, 7};
  ASSERT_TRUE(gpu_->create_pool(pool));
  gpu_->set_pool_use_on_oom(pool);
  const auto from_pool = [&](Bytes size) { return *gpu_->allocate(Request{.size = size, .pool = pool}); };
  from_pool(40_MiB).reset();
  EXPECT_FALSE(gpu_->allocate((80_MiB).count)) << "two pages of the pool are cached and may not be lent";
  configure("expandable_segments:False");
  from_pool(50_MiB).reset();
  configure("expandable_segments:True");
  const Allocation lent = get(49_MiB + 512_KiB);
  EXPECT_EQ(lent.block_size(), (50_MiB).count);  // the split rule of the option off
}

TEST_F(Expandable, GarbageCollectionLeavesThemAlone) {
  open(1000_MiB, "expandable_segments:True,garbage_collection_threshold:0.1");
  ASSERT_TRUE(gpu_->set_memory_fraction(0.9));
  Allocation small_part = get(10_MiB);
  get(200_MiB).reset();
  const Allocation b = get(300_MiB);
  EXPECT_EQ(calls(sim::Call::unmap), 0u);
  EXPECT_EQ(b.address(), small_part.address() + 10_MiB);
}

TEST_F(Expandable, TheLimitInBytesHoldsToThePage) {
  open(4096_MiB, "expandable_segments:True,memory_limit_mb:50");
  const Allocation a = get(30_MiB);
  EXPECT_FALSE(gpu_->allocate((12_MiB).count)) << "a third page would pass the limit";
  EXPECT_EQ(reserved(), 40_MiB);
}

TEST_F(Expandable, ADriverWithoutPagesRefusesTheOption) {
  const auto plain = std::make_shared<sim::Device>(sim::DeviceOptions{.mapping = false});
  const Result<Allocator> opened = Allocator::open(plain, {.expandable_segments = true});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  Allocator gpu = *Allocator::open(plain);
  EXPECT_EQ(gpu.configure("expandable_segments:True").error().code, ErrorCode::unsupported);
}

TEST_F(Expandable, ABlockHasNoSegmentOfItsOwn) {
  open(4096_MiB);
  const Allocation a = get(5_MiB);
  EXPECT_EQ(gpu_->segment_of(a.data()).error().code, ErrorCode::invalid);
}

// Replay -------------------------------------------------------------------------------------------------------------

// Addresses that a recording names, in order.
struct Recorded final : sim::AddressScript {
  explicit Recorded(std::deque<Address> places) : left(std::move(places)) {}
  Address next(Bytes) override { return take(); }
  Address next_reservation(Bytes) override { return take(); }
  Address take() {
    const Address place = left.empty() ? Address{} : left.front();
    if (!left.empty()) left.pop_front();
    return place;
  }
  std::deque<Address> left;
};

SegmentView run(std::uint64_t number, Address at, Bytes size, std::vector<BlockView> blocks) {
  return {SegmentNumber{number}, at, size, kDefaultStream, kDefaultPool, SizeClass::large, true, std::move(blocks), {}};
}
BlockView live(Address at, Bytes size) { return {at, size, size, BlockState::live, {}}; }

TEST_F(Expandable, RunsOfOneReservationAreRestored) {
  const Address base{1ull << 44};
  Recorded script({base});
  open(4096_MiB, "expandable_segments:True", &script);
  const Address far = base + kPage * 5;
  Snapshot state;
  state.segments = {run(4, base, kPage, {live(base, 8_MiB)}), run(4, far, kPage * 2, {live(far + 4_MiB, 36_MiB)})};
  ASSERT_TRUE(gpu_->restore(state));
  sound();
  EXPECT_EQ(reservations(), 1u);
  EXPECT_EQ(reserved(), kPage * 3);
  EXPECT_EQ(gpu_->ledger().allocated, 44_MiB);
  const Allocation a = get(30_MiB);  // 12 MiB are free behind the first block, and the next page grows them
  EXPECT_EQ(a.address(), base + 8_MiB);
  EXPECT_FALSE(gpu_->unmap_range(base, kPage)) << "a live block lies there";
  EXPECT_FALSE(gpu_->unmap_range(far + 4_MiB, kPage));
  gpu_->deallocate(reinterpret_cast<void*>((far + 4_MiB).value));
  EXPECT_FALSE(gpu_->unmap_range(far, kPage * 3)) << "more than is mapped";
  EXPECT_TRUE(gpu_->unmap_range(far + kPage, kPage));
  EXPECT_EQ(reserved(), kPage * 3);  // one more, one less
  gpu_->deallocate(reinterpret_cast<void*>(base.value));
}

TEST_F(Expandable, AViewWithoutBytesOpensTheReservation) {
  const Address base{1ull << 44};
  Recorded script({base});
  open(4096_MiB, "expandable_segments:True", &script);
  Snapshot state;
  state.segments = {run(0, base, {}, {}), run(0, base + kPage, kPage, {live(base + kPage, kPage)})};
  ASSERT_TRUE(gpu_->restore(state));
  const Allocation a = get(kPage);
  EXPECT_EQ(a.address(), base);  // below the run
  gpu_->deallocate(reinterpret_cast<void*>((base + kPage).value));
}

TEST_F(Expandable, ARunThatCannotBeIsRefused) {
  const Address base{1ull << 44};
  for (const SegmentView& view : {run(0, base, 3_MiB, {}), run(0, base, kPage, {live(base + 15_MiB, 10_MiB)})}) {
    Recorded script({base});
    open(4096_MiB, "expandable_segments:True", &script);
    Snapshot state;
    state.segments = {view};
    EXPECT_FALSE(gpu_->restore(state));
    sound();
    TearDown();
  }
}

TEST_F(Expandable, ADriverWithoutPagesCannotRestoreThem) {
  Allocator gpu = *Allocator::open(std::make_shared<sim::Device>(sim::DeviceOptions{.mapping = false}));
  Snapshot state;
  state.segments = {run(0, Address{1ull << 44}, kPage, {})};
  EXPECT_EQ(gpu.restore(state).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace quarry
