// Which stream may use which bytes, and when: the correctness list of reference/fragmentation.md section 4 ("Several
// streams"), a test for each item. Work on stream 1 is held, so that only waits and completion can make its bytes safe;
// the device's hazard checker looks on.
#include <algorithm>
#include <random>

#include "support/event_watch.h"
#include "support/paged_bench.h"

namespace quarry {
namespace {

using sim::Call;

class PagedOrder : public PagedBench {
 protected:
  void SetUp() override {
    open();
    begin();
  }
  // Both streams have asked for memory; what stream 1 does from now on is not finished.
  void begin() {
    for (const std::uintptr_t number : {1u, 2u, 3u}) get(1_MiB, stream(number));
    hold(1);
    forget_calls();
  }

  // A block of that size on the stream overlaps the bytes. Its bytes are written, as a program would.
  bool serves(std::uintptr_t number, Address bytes, Bytes size) {
    const Allocation block = written(size, number);
    return block.address() < bytes + size && bytes < block.address() + size;
  }
};

TEST_F(PagedOrder, WithSeveralLastUsersEveryUserMustBeDone) {
  hold(2);
  hold(3);
  Allocation block = written(8_MiB, 1);
  const Address bytes = block.address();
  read_on(block, 1, 2);
  read_on(block, 1, 3);
  block.reset();
  EXPECT_EQ(gpu_->ledger().pending, 8_MiB);
  complete(1);
  complete(2);
  EXPECT_FALSE(serves(1, bytes, 8_MiB)) << "stream 3 still reads";
  EXPECT_FALSE(serves(2, bytes, 8_MiB));
  EXPECT_EQ(gpu_->ledger().pending, 8_MiB);
  complete(3);
  EXPECT_TRUE(serves(1, bytes, 8_MiB));
}

// The block's own stream is one of its users.
TEST_F(PagedOrder, TheOwnStreamCountsAsAUserForOthers) {
  Allocation block = written(8_MiB, 1);
  const Address bytes = block.address();
  read_on(block, 1, 2);
  complete(1);
  make_wait(1, 2);
  write(block, 1);
  block.reset();
  EXPECT_FALSE(serves(3, bytes, 8_MiB)) << "the last write on stream 1 has not run";
  EXPECT_EQ(gpu_->ledger().pending, 0_B) << "stream 2 is done";
  complete(1);
  EXPECT_TRUE(serves(1, bytes, 8_MiB));
}

TEST_F(PagedOrder, AWaitBeforeTheFreeProvesNothing) {
  Allocation block = written(8_MiB, 1);
  const Address bytes = block.address();
  wait_and_note(2, 1);
  write(block, 1);
  block.reset();
  EXPECT_FALSE(serves(2, bytes, 8_MiB));
  wait_and_note(2, 1);
  EXPECT_TRUE(serves(2, bytes, 8_MiB));
}

// note_wait comes right after the wait of the program, and costs no call of the driver.
TEST_F(PagedOrder, NoteWaitMakesWhatWasFreedUsableAtOnce) {
  Allocation block = written(8_MiB, 1);
  const Address bytes = block.address();
  block.reset();
  make_wait(2, 1);
  device_->take_calls();
  note_wait(2, 1);
  const Allocation after = get(8_MiB, stream(2));
  EXPECT_EQ(after.address(), bytes);
  EXPECT_TRUE(std::ranges::none_of(device_->take_calls(), [](const sim::CallRecord& record) {
    return record.call != Call::stream_identity && record.call != Call::info;
  }));
  write(after, 2);
  EXPECT_FALSE(serves(3, bytes, 8_MiB)) << "stream 3 has waited for nobody";
}

TEST_F(PagedOrder, ASmallBlockOfAFrontCacheIsFreedBeforeTheWaitToo) {
  Allocation block = written(4_KiB, 1);
  const Address bytes = block.address();
  block.reset();
  wait_and_note(2, 1);
  bool served = false;
  std::vector<Allocation> blocks;
  for (int i = 0; i < 2000 && !served; ++i) {
    blocks.push_back(written(4_KiB, 2));
    served = blocks.back().address() == bytes;
  }
  EXPECT_TRUE(served);
}

TEST_F(PagedOrder, WaitsAreTransitive) {
  Allocation block = written(8_MiB, 1);
  const Address bytes = block.address();
  block.reset();
  wait_and_note(2, 1);
  wait_and_note(3, 2);
  EXPECT_TRUE(serves(3, bytes, 8_MiB));
}

TEST_F(PagedOrder, ATransitiveWaitDoesNotReachLaterFrees) {
  wait_and_note(2, 1);
  Allocation block = written(8_MiB, 1);
  const Address bytes = block.address();
  block.reset();
  wait_and_note(3, 2);
  EXPECT_FALSE(serves(3, bytes, 8_MiB));
  EXPECT_FALSE(serves(2, bytes, 8_MiB));
}

// What stream 2 got by a wait and freed again is stream 2's: who waited for stream 1 before that has no right to it.
TEST_F(PagedOrder, BytesBelongToWhoeverUsedThemLast) {
  Allocation first = written(8_MiB, 1);
  const Address bytes = first.address();
  first.reset();
  wait_and_note(2, 1);
  wait_and_note(3, 1);
  hold(2);
  Allocation second = written(8_MiB, 2);
  ASSERT_EQ(second.address(), bytes);
  second.reset();
  EXPECT_FALSE(serves(3, bytes, 8_MiB));
  EXPECT_FALSE(serves(1, bytes, 8_MiB));
  EXPECT_TRUE(serves(2, bytes, 8_MiB));
}

TEST_F(PagedOrder, FreeBytesMergeInsideAViewWhoeverUsedThemLast) {
  std::vector<Allocation> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(written(1_MiB + 512_B, i % 2 == 0 ? 1 : 2));
  const Address bytes = blocks.front().address();
  blocks.clear();
  wait_and_note(2, 1);
  const Bytes before = reserved();
  EXPECT_TRUE(serves(2, bytes, 8_MiB));
  EXPECT_EQ(reserved(), before);
}

// Streams are known by a number of their own, so that a new one behind an old handle has no right to what the old one
// freed, and no work left on it.
TEST_F(PagedOrder, ARetiredStreamIsCompleteAndItsHandleMayComeAgain) {
  void* dying = device_->create_stream();
  const Stream old = gpu_->stream(dying);
  Allocation block = get(8_MiB, old);
  Allocation late = get(8_MiB, old);
  const Address bytes = block.address();
  device_->hold(dying);
  device_->work(dying, 1000, {}, {{bytes, 8_MiB}});
  block.reset();
  EXPECT_FALSE(serves(2, bytes, 8_MiB));
  gpu_->retire(old);
  late.reset();  // after its stream: everyone's at once
  ASSERT_TRUE(device_->destroy_stream(dying));
  void* reborn = device_->create_stream();
  ASSERT_EQ(reborn, dying) << "the device hands out handles again";
  const Stream fresh = gpu_->stream(reborn);
  EXPECT_NE(fresh.id(), old.id());
  EXPECT_GE(shared(), 16_MiB);
  for (const StreamRow& row : gpu_->ledger().streams) {
    EXPECT_FALSE(!row.shared && row.stream == old.id()) << "nothing is the old stream's any more";
  }
  EXPECT_TRUE(serves(2, bytes, 8_MiB));
}

TEST_F(PagedOrder, ARetiredStreamsOwnFreesStayUsableForThoseWhoWaited) {
  void* dying = device_->create_stream();
  const Stream old = gpu_->stream(dying);
  const Address bytes = get(8_MiB, old).address();
  gpu_->retire(old);
  const Bytes before = reserved();
  EXPECT_TRUE(serves(3, bytes, 8_MiB));
  EXPECT_EQ(reserved(), before);
}

// Events -------------------------------------------------------------------------------------------------------------

TEST_F(PagedOrder, WithOneStreamNoEventIsEverRecorded) {
  open();
  std::mt19937_64 random(1);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 2000; ++i) {
    if (blocks.size() > 20) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(random() % blocks.size()));
    blocks.push_back(written({512 + random() % (8u << 20)}, 1));
  }
  blocks.clear();
  for (const Call call : {Call::create_event, Call::record, Call::query, Call::wait_on_stream, Call::wait_on_host,
                          Call::synchronize_stream, Call::synchronize_device, Call::capture_open}) {
    EXPECT_EQ(calls(call), 0u) << sim::kCallNames[static_cast<std::size_t>(call)];
  }
}

TEST_F(PagedOrder, OneEventForManyFrees) {
  auto blocks = written(640, 64_KiB, 1);  // 40 MiB in 640 frees
  forget_calls();
  blocks.clear();
  EXPECT_EQ(calls(Call::record), 10u);
  EXPECT_LE(calls(Call::query), 10u);
  EXPECT_EQ(calls(Call::wait_on_stream), 0u);
}

TEST_F(PagedOrder, OneEventForManyFreedBytes) {
  auto blocks = written(16, 8_MiB, 1);
  forget_calls();
  blocks.clear();
  EXPECT_EQ(calls(Call::record), 8u);
}

TEST_F(PagedOrder, FewFreesGetTheirEventWhenAnotherStreamIsShort) {
  Allocation block = written(8_MiB, 1);
  forget_calls();
  block.reset();
  EXPECT_EQ(calls(Call::record), 0u);
  const Allocation first = written(8_MiB, 2);
  EXPECT_EQ(calls(Call::record), 1u);
  complete(1);
  const Bytes before = reserved();
  const Allocation second = written(8_MiB, 3);  // looks at the event
  EXPECT_EQ(reserved(), before);
  EXPECT_EQ(cached_of(1), 0_B);
}

// A driver that watches each event object through a program that never lets the queues run empty.
TEST_F(PagedOrder, AnEventThatARangeRefersToIsNotUsedAgain) {
  open();
  gpu_.reset();  // the device stays
  const auto watch = std::make_shared<EventWatch>(device_);
  open_on(watch, "stream_waits:all");
  begin();
  hold(2);
  hold(3);
  std::mt19937_64 random(9);
  std::vector<std::pair<Allocation, std::uintptr_t>> blocks;
  for (int i = 0; i < 3000; ++i) {
    const std::uintptr_t number = 1 + random() % 3;
    if (random() % 50 == 0) complete(number);
    if (random() % 20 == 0) wait_and_note(number, number % 3 + 1);
    if (blocks.size() > 100) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(random() % blocks.size()));
    blocks.emplace_back(written({512 + random() % (1u << 20)}, number), number);
    if (random() % 8 == 0) read_on(blocks.back().first, number, number % 3 + 1);
  }
  EXPECT_EQ(watch->reused_in_flight(), 0u);
  EXPECT_LT(watch->created(), 1000u) << "finished ones are used again";
  blocks.clear();
}

// Giving back --------------------------------------------------------------------------------------------------------

TEST_F(PagedOrder, NothingIsUnmappedBeforeTheHostHasSeenAllStreamsDone) {
  hold(2);
  hold(3);
  Allocation block = written(64_MiB, 1);
  block.reset();
  wait_and_note(2, 1);
  Allocation taken = written(64_MiB, 2);  // the bytes of stream 1, used by stream 2 now
  read_on(taken, 2, 3);
  taken.reset();
  device_->take_calls();
  EXPECT_GE(gpu_->empty_cache(), 64_MiB);
  const std::vector<sim::CallRecord> made = device_->take_calls();
  const auto is = [](Call call) { return [call](const sim::CallRecord& record) { return record.call == call; }; };
  const auto wait = std::ranges::find_if(made, is(Call::synchronize_device));
  const auto unmap = std::ranges::find_if(made, is(Call::unmap));
  ASSERT_NE(unmap, made.end());
  EXPECT_LT(wait - made.begin(), unmap - made.begin());
}

TEST_F(PagedOrder, LimitsWaitBeforeTheyGiveBack) {
  open("memory_limit_mb:128");
  begin();
  { const Allocation block = written(96_MiB, 1); }
  const Allocation other = written(100_MiB, 2);  // only with the pages of stream 1
  EXPECT_LE(reserved(), 128_MiB);
}

// The ledger ---------------------------------------------------------------------------------------------------------

TEST_F(PagedOrder, CachedBytesStandInTheRowOfTheirStreamUntilTheyAreEverybodys) {
  Allocation mine = written(8_MiB, 1);
  Allocation other = written(4_MiB, 2);
  mine.reset();
  EXPECT_GE(cached_of(1), 8_MiB);
  const Bytes own = cached_of(1);
  const Bytes common = shared();
  complete(1);
  device_->unhold(handle(1));
  const Allocation some = written(2_MiB, 3);  // finds nothing of its own, and looks at what has finished
  EXPECT_LT(cached_of(1), own);
  EXPECT_GE(shared(), common + 6_MiB);
}

TEST_F(PagedOrder, RowsAddUp) {
  std::mt19937_64 random(4);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 400; ++i) {
    if (blocks.size() > 30) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(random() % blocks.size()));
    blocks.push_back(written({512 + random() % (4u << 20)}, 1 + random() % 3));
    if (i % 40 == 0) complete(1);
    const Ledger ledger = gpu_->ledger();
    Bytes active;
    Bytes cached;
    for (const StreamRow& row : ledger.streams) {
      active += row.active;
      cached += row.cached;
    }
    ASSERT_EQ(active, ledger.active());
    ASSERT_EQ(cached, ledger.cached());
    ASSERT_LE(std::ranges::count(ledger.streams, true, &StreamRow::shared), 1);
  }
}

}  // namespace
}  // namespace quarry
