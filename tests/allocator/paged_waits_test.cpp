// Streams that wait for each other instead of getting more pages: for whom, when, and how many waits it takes
// (reference/fragmentation.md section 4, option stream_waits). Work on stream 1 is held in every test.
#include <random>

#include "support/paged_bench.h"

namespace quarry {
namespace {

using sim::Call;

class PagedWaits : public PagedBench {
 protected:
  void begin(std::string_view options, Bytes capacity = kUnlimited) {
    open(options, {.capacity = capacity});
    for (const std::uintptr_t number : {1u, 2u, 3u}) get(1_MiB, stream(number));
    hold(1);
    hold(3);
    start_counting();
  }
  void start_counting() {
    forget_calls();
    waits_before_ = gpu_->counters()[Tally::num_stream_waits];
  }
  // Freed on the stream, whose work on it is not done.
  void leave(Bytes size, std::uintptr_t number) { written(size, number); }
  // Requests that find their memory, one after the other.
  void pass_time(int requests) {
    for (int i = 0; i < requests; ++i) get(1_MiB, stream(3));
  }
  std::uint64_t waits() {
    EXPECT_EQ(gpu_->counters()[Tally::num_stream_waits] - waits_before_, calls(Call::wait_on_stream)) << "counted";
    return calls(Call::wait_on_stream);
  }
  std::uint64_t host_waits() {
    return calls(Call::wait_on_host) + calls(Call::synchronize_stream) + calls(Call::synchronize_device);
  }

 private:
  std::uint64_t waits_before_ = 0;
};

TEST_F(PagedWaits, NoneGrows) {
  begin("stream_waits:none");
  wait_and_note(2, 1);
  leave(64_MiB, 1);
  const Bytes before = reserved();
  const Allocation block = written(64_MiB, 2);
  EXPECT_EQ(reserved(), before + 64_MiB);
  EXPECT_EQ(waits(), 0u);
}

TEST_F(PagedWaits, AllWaitsAtOnce) {
  begin("stream_waits:all");
  wait_and_note(2, 1);
  leave(64_MiB, 1);
  const Bytes before = reserved();
  const Allocation block = written(64_MiB, 2);
  EXPECT_EQ(reserved(), before);
  EXPECT_EQ(waits(), 1u);
  EXPECT_EQ(host_waits(), 0u);
}

// The order of the calls: the event lies behind the work of stream 1, the wait behind the event, and only then does the
// program get the pointer. The hazard checker sees the write on stream 2 behind the held one on stream 1.
TEST_F(PagedWaits, TheWaitIsQueuedBeforeThePointerIsReturned) {
  begin("stream_waits:all");
  wait_and_note(2, 1);
  leave(64_MiB, 1);
  device_->take_calls();
  const Allocation block = get(64_MiB, stream(2));
  std::vector<std::pair<Call, void*>> order;
  for (const sim::CallRecord& record : device_->take_calls()) {
    if (record.call == Call::record || record.call == Call::wait_on_stream)
      order.emplace_back(record.call, record.stream);
  }
  using Order = decltype(order);
  EXPECT_TRUE((order == Order{{Call::wait_on_stream, handle(2)}} ||
               order == Order{{Call::record, handle(1)}, {Call::wait_on_stream, handle(2)}}));
  write(block, 2);
}

TEST_F(PagedWaits, FewWaitsForBytesOfSomeAge) {
  begin("stream_waits:few");
  wait_and_note(2, 1);
  leave(64_MiB, 1);
  const Bytes before = reserved();
  const Allocation young = written(64_MiB, 2);
  EXPECT_EQ(reserved(), before + 64_MiB) << "freed just now";
  EXPECT_EQ(waits(), 0u);
  pass_time(16);
  const Allocation old = written(64_MiB, 2);
  EXPECT_EQ(reserved(), before + 64_MiB);
  EXPECT_EQ(waits(), 1u);
}

// Growth that stays within a thousandth of what is needed anyway is not worth a wait.
TEST_F(PagedWaits, ALittleGrowthIsNotWorthAWait) {
  begin("stream_waits:all");
  wait_and_note(2, 1);
  const Allocation most = written(8_GiB, 2);
  leave(4_MiB, 1);
  const Allocation block = written(4_MiB, 2);
  EXPECT_EQ(waits(), 0u);
  leave(64_MiB, 1);
  const Allocation more = written(64_MiB, 2);
  EXPECT_EQ(waits(), 1u);
}

TEST_F(PagedWaits, StreamsThatHaveNothingToDoWithEachOtherNeverWait) {
  begin("stream_waits:all", 160_MiB);
  std::mt19937_64 random(2);
  std::vector<Allocation> blocks;
  std::uint64_t served = 0;
  for (int i = 0; i < 500; ++i) {
    while (blocks.size() > 12) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(random() % blocks.size()));
    const std::uintptr_t number = 1 + random() % 2;
    Result<Allocation> got = gpu_->allocate(1 + random() % (24u << 20), stream(number));
    if (!got) continue;
    ++served;
    write(*got, number);
    blocks.push_back(*std::move(got));
  }
  EXPECT_EQ(waits(), 0u);
  EXPECT_GT(served, 200u);
  EXPECT_LT(served, 500u) << "memory was short";
}

TEST_F(PagedWaits, AStreamThatUsesAnothersBlocksIsCoupledToIt) {
  begin("stream_waits:all");
  leave(64_MiB, 1);
  const Allocation apart = written(64_MiB, 2);
  EXPECT_EQ(waits(), 0u);
  Allocation lent = written(1_MiB, 1);
  read_on(lent, 1, 2);
  const Bytes before = reserved();
  const Allocation together = written(64_MiB, 2);
  EXPECT_EQ(waits(), 1u);
  EXPECT_EQ(reserved(), before);
}

TEST_F(PagedWaits, OneWaitForEachStreamInvolved) {
  begin("stream_waits:all");
  wait_and_note(2, 1);
  wait_and_note(2, 3);
  leave(32_MiB, 1);  // each of them large enough for an event of its own
  leave(33_MiB, 1);
  leave(32_MiB, 3);
  const Bytes before = reserved();
  start_counting();
  const Allocation block = written(64_MiB, 2);
  EXPECT_EQ(reserved(), before);
  EXPECT_EQ(waits(), 2u);
}

// All were freed between two requests: the youngest free of a stream covers the others.
TEST_F(PagedWaits, OneWaitForManyRangesOfAStream) {
  begin("stream_waits:all");
  wait_and_note(2, 1);
  std::vector<Allocation> blocks = written(8, 32_MiB, 1);
  for (const std::size_t i : {6u, 1u, 4u, 0u, 7u, 2u, 5u, 3u}) blocks[i].reset();
  const Bytes before = reserved();
  const Allocation block = written(256_MiB, 2);
  EXPECT_EQ(reserved(), before);
  EXPECT_EQ(waits(), 1u);
}

TEST_F(PagedWaits, TheOldestBytesAreWaitedForFirst) {
  begin("stream_waits:all");
  wait_and_note(2, 1);
  wait_and_note(2, 3);
  leave(32_MiB, 3);
  pass_time(1);
  leave(32_MiB, 1);
  const Bytes young = cached_of(1);
  start_counting();
  const Allocation block = written(32_MiB, 2);
  EXPECT_EQ(waits(), 1u);
  EXPECT_EQ(cached_of(1), young);
}

// Before an out-of-memory, whatever the option says: the stream waits, the host does not.
TEST_F(PagedWaits, BeforeAnOutOfMemoryTheStreamWaitsInEveryMode) {
  for (const char* mode : {"stream_waits:none", "stream_waits:few", "stream_waits:all"}) {
    begin(mode, 128_MiB);
    wait_and_note(2, 1);
    leave(96_MiB, 1);
    const Allocation block = written(100_MiB, 2);
    EXPECT_EQ(waits(), 1u) << mode;
    EXPECT_EQ(host_waits(), 0u) << mode;
    EXPECT_LE(reserved(), 128_MiB);
  }
}

TEST_F(PagedWaits, WithoutCouplingTheHostWaitsBeforeAnOutOfMemory) {
  begin("stream_waits:all", 128_MiB);
  leave(96_MiB, 1);
  const Allocation block = written(100_MiB, 2);
  EXPECT_EQ(waits(), 0u);
  EXPECT_GT(host_waits(), 0u);
}

TEST_F(PagedWaits, AWaitThatFailsMeansGrowth) {
  for (const Call call : {Call::create_event, Call::record, Call::wait_on_stream}) {
    begin("stream_waits:all");
    wait_and_note(2, 1);
    leave(8_MiB, 1);  // no event yet
    device_->fail(call, 1, DriverCode::other, true);
    const Bytes before = reserved();
    const Allocation block = written(8_MiB, 2);
    EXPECT_EQ(reserved(), before + 8_MiB) << sim::kCallNames[static_cast<std::size_t>(call)];
    device_->fail(call, 0);
    sound();
  }
}

// A loader and a trainer: batches are made on stream 3 and eaten on stream 1, whose work is always late.
TEST_F(PagedWaits, CoupledStreamsWaitInsteadOfGrowing) {
  const auto peak_ratio = [&](std::string_view mode) {
    begin(mode);
    gpu_->reset_peak();
    for (int step = 0; step < 60; ++step) {
      Allocation batch = written(48_MiB + 512_KiB * static_cast<std::uint64_t>(step % 5), 3);
      read_on(batch, 3, 1);
      {
        std::vector<Allocation> acts = written(6, 24_MiB + 256_KiB * static_cast<std::uint64_t>(step % 3), 1);
        batch.reset();
      }
      if (step >= 1) complete(1);  // a step behind
      complete(3);
      const Allocation metrics = written(20_MiB, 3);
    }
    const Counters counters = gpu_->counters();
    return static_cast<double>(counters[Metric::reserved_bytes].all.peak) /
           static_cast<double>(counters[Metric::requested_bytes].all.peak);
  };
  const double none = peak_ratio("stream_waits:none");
  const double all = peak_ratio("stream_waits:all");
  EXPECT_LE(all, 1.01 + 4.0 * 2 / 210);
  EXPECT_LE(all, none);
  EXPECT_GT(gpu_->counters()[Tally::num_stream_waits], 0u);
}

}  // namespace
}  // namespace quarry
