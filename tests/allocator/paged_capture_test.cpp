// Captures and the pools of graphs in the paged policy: nothing outside is asked, waited for or recorded while a
// capture is open, and what a graph's pool holds stays there, mapped where it is, until the pool is released.
#include <algorithm>

#include "support/paged_bench.h"

namespace quarry {
namespace {

using sim::Call;

constexpr PoolId kGraph{0, 1};

class PagedCapture : public PagedBench {
 protected:
  // Stream 1 captures; streams 2 and 3 stand outside. Stream 2 is late.
  void begin(std::string_view options = "stream_waits:all", Bytes capacity = kUnlimited) {
    open(options, {.capacity = capacity});
    for (const std::uintptr_t number : {1u, 2u, 3u}) get(1_MiB, stream(number));
    hold(2);
  }
  void start_capture() {
    ASSERT_TRUE(gpu_->begin_pool(kGraph));
    gpu_->make_current(stream(1));
    ASSERT_TRUE(device_->begin_capture(handle(1)));
    forget_calls();
  }
  void end_capture() {
    ASSERT_TRUE(device_->end_capture(handle(1)));
    gpu_->make_current({});
    ASSERT_TRUE(gpu_->end_pool(kGraph));
  }
  // What may not be called while a capture is open.
  void expect_quiet() {
    for (const Call call : {Call::record, Call::query, Call::wait_on_host, Call::wait_on_stream,
                            Call::synchronize_stream, Call::synchronize_device, Call::unmap}) {
      EXPECT_EQ(calls(call), 0u) << sim::kCallNames[static_cast<std::size_t>(call)];
    }
  }
  PoolId pool_of(Address address) {
    for (const SegmentView& segment : gpu_->snapshot().segments) {
      if (address >= segment.address && address - segment.address < segment.size) return segment.pool;
    }
    return {~0ull, ~0ull};
  }
};

TEST_F(PagedCapture, NothingOutsideIsAskedWaitedForOrRecorded) {
  begin();
  wait_and_note(3, 2);
  wait_and_note(1, 2);
  auto before = written(40, 8_MiB, 2);  // enough for many events
  auto late = written(40, 8_MiB, 2);
  before.clear();
  start_capture();
  late.clear();  // on an outside stream, while the capture is open
  std::vector<Allocation> kept;
  for (int i = 0; i < 40; ++i) {
    { const Allocation temporary = get(3_MiB, stream(1)); }
    kept.push_back(get(2_MiB + 512_KiB * static_cast<std::uint64_t>(i % 7), stream(1)));
    if (i % 3 == 0) kept.erase(kept.begin());
  }
  { const Allocation outside = get(64_MiB, stream(3)); }  // the scope takes it: it is of the graph too
  expect_quiet();
  end_capture();
  kept.clear();
}

TEST_F(PagedCapture, ARefusedRequestAsksNothingEither) {
  begin("stream_waits:all", 256_MiB);
  wait_and_note(1, 2);
  { const auto blocks = written(10, 8_MiB, 2); }
  start_capture();
  const Result<Allocation> refused = gpu_->allocate((512_MiB).count, stream(1));
  EXPECT_FALSE(refused);
  expect_quiet();
  end_capture();
}

// A fraction of the device and a threshold: garbage would be collected before the first page of the request.
TEST_F(PagedCapture, GarbageWaitsForTheEndOfTheCapture) {
  begin("per_process_memory_fraction:0.5,garbage_collection_threshold:0.5", 256_MiB);
  { const auto blocks = written(10, 8_MiB, 3); }
  start_capture();
  const Allocation inside = get(24_MiB, stream(1));
  expect_quiet();
  end_capture();
  const Bytes before = reserved();
  const Allocation outside = get(32_MiB, stream(3));
  EXPECT_LE(reserved(), before + 32_MiB);
}

// Unmapping needs the host to have seen all work done, and that it cannot ask for now.
TEST_F(PagedCapture, EmptyCacheGivesNothingBack) {
  begin();
  ASSERT_TRUE(gpu_->create_pool({0, 9}));
  { const Result<Allocation> block = gpu_->allocate({.size = 16_MiB, .pool = {0, 9}}); }
  ASSERT_TRUE(gpu_->release_pool({0, 9}));
  start_capture();
  EXPECT_EQ(gpu_->empty_cache(), 0_B);
  expect_quiet();
  end_capture();
  EXPECT_GE(gpu_->empty_cache(), 16_MiB);
}

TEST_F(PagedCapture, AliasesAreNotTrimmedInside) {
  begin();
  start_capture();
  std::vector<Allocation> blocks;
  for (int i = 0; i < 30; ++i) blocks.push_back(get(2_MiB, stream(1)));
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  const Allocation stitched = get(20_MiB, stream(1));
  expect_quiet();
  end_capture();
}

// A graph's bytes -----------------------------------------------------------------------------------------------------

TEST_F(PagedCapture, BytesFreedInAGraphsPoolStayThere) {
  begin("stream_waits:all", 256_MiB);
  start_capture();
  Address inside;
  {
    const Allocation temporary = get(100_MiB, stream(1));
    inside = temporary.address();
  }
  end_capture();
  EXPECT_EQ(pool_of(inside), kGraph);
  complete(2);
  const Allocation outside = written(64_MiB, 3);
  EXPECT_FALSE(outside.address() >= inside && outside.address() < inside + 100_MiB);
  EXPECT_FALSE(gpu_->allocate((128_MiB).count, stream(3))) << "only the graph's memory would do";
  gpu_->empty_cache();
  EXPECT_EQ(pool_of(inside), kGraph);
}

TEST_F(PagedCapture, AnotherCaptureIntoThePoolReusesThem) {
  begin();
  start_capture();
  { const Allocation temporary = get(100_MiB, stream(1)); }
  end_capture();
  const Bytes before = reserved();
  start_capture();
  { const Allocation temporary = get(100_MiB, stream(1)); }
  EXPECT_EQ(reserved(), before);
  end_capture();
}

// The graph runs on the addresses it was captured with: neither pages nor aliases go before the pool is released.
TEST_F(PagedCapture, MemoryOfAGraphIsNotRemappedBeforeItsRelease) {
  begin();
  start_capture();
  std::vector<Allocation> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(get(2_MiB, stream(1)));
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  Address alias;
  {
    const Allocation stitched = get(24_MiB, stream(1));
    alias = stitched.address();
    EXPECT_EQ(pool_of(alias).first, ~0ull) << "it lies under an alias";
  }
  end_capture();
  forget_calls();
  gpu_->empty_cache();
  { const auto many = written(30, 10_MiB, 3); }
  gpu_->empty_cache();
  for (const sim::CallRecord& record : device_->take_calls()) {
    const bool touched = record.call == Call::unmap && record.address <= alias && alias < record.address + record.size;
    EXPECT_FALSE(touched) << "the alias was unmapped";
  }
  device_->work(handle(1), 1000, {}, {{alias, 24_MiB}});  // a launch of the graph: no stray access
  complete(1);
  ASSERT_TRUE(device_->synchronize_device());
  blocks.clear();
  ASSERT_TRUE(gpu_->release_pool(kGraph));
  EXPECT_GE(gpu_->empty_cache(), 64_MiB);
  EXPECT_EQ(device_->holdings().mappings, 0u);
}

}  // namespace
}  // namespace quarry
