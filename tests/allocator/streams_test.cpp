// Blocks that several streams use: when their bytes come back, what that costs, and which stream a handle names.
#include <stdexcept>

#include <quarry/allocator/check.h>
#include "support/expandable_bench.h"

namespace quarry {
namespace {

using sim::Call;

void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class StreamUses : public ExpandableBench {
 protected:
  void SetUp() override { open(1_GiB, "tie_break:segment"); }

  Bytes pending() { return gpu_->ledger().pending; }
  // The stream of that handle reads the whole block, and the allocator is told.
  void use(Allocation& block, void* stream) {
    device_->work(stream, 1000, {{block.address(), {block.block_size()}}});
    block.used_on(gpu_->stream(stream));
  }
  void complete(void* stream) {
    device_->complete(stream);
    device_->advance(1'000'000);
  }
};

TEST_F(StreamUses, TheBytesStayUntilTheOtherStreamIsDone) {
  device_->hold(handle(1));
  Allocation block = get(10_MiB);
  const Address address = block.address();
  use(block, handle(1));
  block.reset();
  EXPECT_EQ(pending(), 10_MiB);
  EXPECT_EQ(gpu_->ledger().allocated, 0_B);
  const Allocation meanwhile = get(10_MiB);
  EXPECT_NE(meanwhile.address(), address);
  EXPECT_EQ(pending(), 10_MiB);
  complete(handle(1));
  const Allocation after = get(10_MiB);
  EXPECT_EQ(after.address(), address);
  EXPECT_EQ(pending(), 0_B);
}

TEST_F(StreamUses, TheLastOfSeveralStreamsDecides) {
  device_->hold(handle(1));
  device_->hold(handle(2));
  Allocation block = get(10_MiB);
  const Address address = block.address();
  use(block, handle(1));
  use(block, handle(2));
  block.reset();
  complete(handle(2));
  EXPECT_NE(get(10_MiB).address(), address);
  complete(handle(1));
  const Allocation first = get(10_MiB);
  EXPECT_EQ(first.address(), address);
}

// Point 7 of the issue: no call of any kind, also while other blocks are pending.
TEST_F(StreamUses, AFreeOnItsOwnStreamMakesNoDriverCall) {
  const Stream own = stream(1);
  Allocation on_default = get(1_MiB);
  Allocation on_own = get(1_MiB, own);
  on_own.used_on(own);
  device_->hold(handle(2));
  Allocation held = get(1_MiB);
  use(held, handle(2));
  held.reset();
  ASSERT_EQ(pending(), 1_MiB);
  device_->take_calls();
  on_default.reset();
  on_own.reset();
  EXPECT_TRUE(device_->take_calls().empty());
  EXPECT_EQ(gpu_->ledger().live_blocks, 0u);
  EXPECT_EQ(pending(), 1_MiB);
}

TEST_F(StreamUses, AHitMakesNoDriverCallWhenNothingIsPending) {
  { const Allocation warm = get(1_MiB); }
  device_->take_calls();
  { const Allocation hit = get(1_MiB); }
  EXPECT_TRUE(device_->take_calls().empty());
}

TEST_F(StreamUses, EventsAreUsedAgain) {
  using Names = std::vector<std::string_view>;
  Allocation block = get(1_MiB);
  block.used_on(stream(1));
  block.used_on(stream(1));
  device_->take_calls();
  block.reset();
  EXPECT_EQ(call_names(), (Names{"create_event", "record"}));
  block = get(1_MiB);
  EXPECT_EQ(call_names(), (Names{"query"}));
  block.used_on(stream(1));
  device_->take_calls();
  block.reset();
  EXPECT_EQ(call_names(), (Names{"record"}));
}

TEST_F(StreamUses, FreeBlocksBelongToTheirStream) {
  const Stream one = stream(1);
  const Address address = get(1_MiB, one).address();
  const Allocation other = get(1_MiB, stream(2));
  EXPECT_NE(other.address(), address);
  const Allocation own = get(1_MiB, one);
  EXPECT_EQ(own.address(), address);
}

TEST_F(StreamUses, AStreamHasOneNumberUntilItIsRetired) {
  const Stream first = stream(1);
  EXPECT_EQ(stream(1).id(), first.id());
  EXPECT_EQ(gpu_->stream(nullptr).id(), kDefaultStream);
  gpu_->retire(first);
  const Stream second = stream(1);
  EXPECT_NE(second.id(), first.id());
  EXPECT_NE(second.id(), kDefaultStream);
  gpu_->retire(first);  // again: nothing
  EXPECT_EQ(stream(1).id(), second.id());
}

TEST_F(StreamUses, RetiringWaitsSoThatLaterFreesNeedNoEvent) {
  Allocation block = get(10_MiB);
  use(block, handle(1));
  device_->take_calls();
  gpu_->retire(stream(1));
  EXPECT_EQ(calls(Call::synchronize_stream), 1u);
  device_->take_calls();
  block.reset();
  EXPECT_TRUE(device_->take_calls().empty());
  EXPECT_EQ(pending(), 0_B);
}

struct CheckFailed : std::logic_error {
  using std::logic_error::logic_error;
};

TEST_F(StreamUses, ARequestOnARetiredStreamIsACheckFailure) {
  const CheckHandler previous = set_check_handler([](const CheckFailure& f) { throw CheckFailed(f.message); });
  const Stream gone = stream(1);
  gpu_->retire(gone);
  EXPECT_THROW((void)gpu_->allocate(512, gone), CheckFailed);
  EXPECT_THROW(gpu_->retire(Stream{}), CheckFailed);
  set_check_handler(previous);
}

// Destroyed without a word to the allocator, and its handle given to a new stream: an event on the new one would say
// nothing about the old one's work.
TEST_F(StreamUses, ARecreatedHandleIsANewStream) {
  void* const old = device_->create_stream();
  const Stream first = gpu_->stream(old);
  device_->hold(old);
  Allocation block = get(10_MiB);
  const Address address = block.address();
  use(block, old);
  ASSERT_TRUE(device_->destroy_stream(old));
  ASSERT_EQ(device_->create_stream(), old);
  EXPECT_NE(gpu_->stream(old).id(), first.id());
  block.reset();
  EXPECT_EQ(pending(), 10_MiB);
  EXPECT_EQ(calls(Call::record), 0u);
  EXPECT_NE(get(10_MiB).address(), address);
  gpu_->empty_cache();
  EXPECT_EQ(calls(Call::synchronize_device), 1u);
  EXPECT_EQ(pending(), 0_B);
}

TEST_F(StreamUses, WithoutAnEventTheDeviceMustBeWaitedFor) {
  for (const Call call : {Call::record, Call::create_event}) {
    SCOPED_TRACE(sim::kCallNames[static_cast<std::size_t>(call)]);
    open(1_GiB, "tie_break:segment");
    Allocation block = get(10_MiB);
    const Address address = block.address();
    use(block, handle(1));
    device_->fail(call, 1, DriverCode::other);
    block.reset();
    EXPECT_EQ(pending(), 10_MiB);
    device_->advance(1'000'000);
    EXPECT_NE(get(10_MiB).address(), address) << "the work is done, but nothing has shown it";
    EXPECT_EQ(pending(), 10_MiB);
    device_->fail(Call::synchronize_device, 1, DriverCode::other);
    gpu_->empty_cache();
    EXPECT_EQ(pending(), 10_MiB) << "the wait failed";
    sound();
    gpu_->empty_cache();
    EXPECT_EQ(pending(), 0_B);
    EXPECT_EQ(reserved(), 0_B);
  }
}

TEST_F(StreamUses, AFullDeviceWaitsForWhatIsPending) {
  open(100_MiB, "tie_break:segment");
  device_->hold(handle(1));
  for (const bool event : {true, false}) {
    SCOPED_TRACE(event);
    Allocation block = get(60_MiB);
    use(block, handle(1));
    if (!event) device_->fail(Call::record, 1, DriverCode::other);
    block.reset();
    EXPECT_EQ(pending(), 60_MiB);
    const Allocation next = get(60_MiB);
    EXPECT_TRUE(next);
    EXPECT_EQ(pending(), 0_B);
  }
}

TEST_F(StreamUses, AnAbandonedSpaceWithPendingBlocksLeaksNothing) {
  device_->hold(handle(1));
  Allocation early = get(10_MiB);
  Allocation late = get(30_MiB);
  use(early, handle(1));
  use(late, handle(1));
  early.reset();
  ASSERT_EQ(pending(), 10_MiB);
  gpu_.reset();
  EXPECT_NE(device_->holdings(), sim::Holdings{});
  late.reset();
  EXPECT_EQ(device_->holdings(), sim::Holdings{});
  EXPECT_EQ(device_.use_count(), 1);
}

TEST_F(StreamUses, AnAbandonedSpaceWithoutEventsLeaksNothing) {
  Allocation block = get(10_MiB);
  use(block, handle(1));
  device_->fail(Call::record, 1, DriverCode::other);
  block.reset();
  gpu_.reset();
  EXPECT_EQ(device_->holdings(), sim::Holdings{});
  EXPECT_EQ(device_.use_count(), 1);
}

// BR-03: the wait puts a fitting block back into the middle of a segment, where PyTorch does not look again.
TEST_F(StreamUses, CloseHolesSearchesAgainAfterTheWait) {
  for (const bool close : {false, true}) {
    SCOPED_TRACE(close);
    open(7_GiB, close ? "close_holes:True" : "close_holes:False");
    { const Allocation whole = get(7_GiB); }
    const Allocation keep = get(512_MiB);
    device_->hold(handle(1));
    Allocation block = get(6_GiB);
    use(block, handle(1));
    block.reset();
    EXPECT_EQ(pending(), 6_GiB);
    const Result<Allocation> again = gpu_->allocate((6_GiB).count);
    EXPECT_EQ(static_cast<bool>(again), close);
    EXPECT_EQ(pending(), 0_B);
    EXPECT_EQ(reserved(), 7_GiB);
  }
}

// What an error says of a device that is full of cached and pending bytes.
TEST_F(StreamUses, TheLedgerSaysWhoWaitsAndWhoStrands) {
  Allocation used = get(30_MiB);
  const Allocation lone = get(2_MiB, stream(2));
  device_->hold(handle(1));
  device_->work(handle(1), 1000, {}, {{used.address(), 30_MiB}});
  used.used_on(stream(1));
  used.reset();
  const Ledger ledger = gpu_->ledger();
  ASSERT_EQ(ledger.pending_by_stream.size(), 1u);
  EXPECT_EQ(ledger.pending_by_stream[0].stream, stream(1).id());
  EXPECT_EQ(ledger.pending_by_stream[0].bytes, 30_MiB);
  EXPECT_EQ(ledger.releasable, 0_B);
  EXPECT_EQ(ledger.releasable_after_wait, 30_MiB);
  ASSERT_EQ(ledger.stranding.size(), 1u);
  EXPECT_EQ(ledger.stranding[0].block, lone.address());
  EXPECT_EQ(ledger.stranding[0].strands, 18_MiB);
  device_->unhold(handle(1));
}

}  // namespace
}  // namespace quarry
