// Pinned memory: open_pinned over a simulated device.
#include <cstring>
#include <functional>
#include <random>

#include "host/host_bench.h"
#include "support/identities.h"

namespace quarry::test {
namespace {

constexpr Bytes kPage = 64_KiB;

class Pinned : public ::testing::TestWithParam<bool> {
 protected:
  static Options options() { return pinned_options(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(, Pinned, ::testing::Bool(),
                         [](const auto& registers) { return registers.param ? "registered" : "allocated"; });

// BR-54, 55 and 56 of the bug reports: PyTorch holds 17,179,869,184, 268,435,456 and 8,589,934,592.
TEST_P(Pinned, HoldsWhatWasAskedFor) {
  PinnedBench bench(options());
  const std::vector<Allocation> first = allocate_all(bench.pinned, {{8695185408}});
  EXPECT_LE(held(bench.pinned).count, 8695185408 + kPage.count);
  const Bytes before = held(bench.pinned);
  const std::vector<Allocation> second = allocate_all(bench.pinned, {{135790592}});
  EXPECT_LT(static_cast<double>((held(bench.pinned) - before).count), 1.02 * 135790592);
  const Bytes then = held(bench.pinned);
  const std::vector<Allocation> third = allocate_all(bench.pinned, {{5368709120}});
  EXPECT_EQ((held(bench.pinned) - then).count, 5368709120u);
}

// BR-56: one buffer of 20.4 GiB, and the same in pieces.
TEST_P(Pinned, TwentyGibHoldNoThirtyTwo) {
  const Bytes wanted{static_cast<std::uint64_t>(20.4 * (1ull << 30))};
  const Bytes most{static_cast<std::uint64_t>(21.7 * (1ull << 30))};
  {
    PinnedBench bench(options());
    const std::vector<Allocation> blocks = allocate_all(bench.pinned, {wanted});
    EXPECT_LE(peak_held(bench.pinned), most);
  }
  std::mt19937_64 random(1);
  PinnedBench bench(options());
  std::vector<Allocation> blocks;
  for (Bytes left = wanted; left != 0_B;) {
    const Bytes size = std::min(left, Bytes{(1 << 20) + random() % (100 << 20)});
    blocks.push_back(*bench.pinned.allocate(size.count));
    left -= size;
  }
  EXPECT_LE(peak_held(bench.pinned), most);
  blocks.clear();
  expect_nothing_left(bench.pinned);
  EXPECT_EQ(bench.device->holdings(), sim::Holdings{});
}

TEST_P(Pinned, MemoryComesTheWayThatWasAskedFor) {
  PinnedBench bench(options());
  const auto block = *bench.pinned.allocate((3_MiB).count);
  const sim::Holdings holdings = bench.device->holdings();
  EXPECT_EQ(holdings.host, GetParam() ? 0u : 1u);
  EXPECT_EQ(holdings.registered, GetParam() ? 1u : 0u);
  EXPECT_NE(bench.pinned.stats().device.find("pinned memory of sim"), std::string::npos);
  EXPECT_EQ(bench.pinned.stats().device.find("registered") != std::string::npos, GetParam());
}

// A block comes back only after every stream that used it is done with it.
TEST_P(Pinned, ABlockWaitsForEveryStreamThatUsedIt) {
  PinnedBench bench(options());
  void* const one = bench.device->create_stream();
  void* const two = bench.device->create_stream();
  for (void* stream : {one, two}) bench.device->hold(stream);
  auto block = *bench.pinned.allocate(40000);
  const Address at = block.address();
  for (void* stream : {one, two}) {
    bench.device->work(stream, 1000, {{at, {40000}}});
    block.used_on(bench.pinned.stream(stream));
  }
  block.reset();
  EXPECT_GT(bench.pinned.ledger().pending, 0_B);
  const auto other = *bench.pinned.allocate(40000);
  EXPECT_NE(other.address(), at);
  bench.device->complete(one);
  bench.device->advance(10000);
  const auto another = *bench.pinned.allocate(40000);
  EXPECT_NE(another.address(), at) << "the second stream is not done";
  bench.device->complete(two);
  bench.device->advance(10000);
  const auto again = *bench.pinned.allocate(40000);
  EXPECT_EQ(again.address(), at);
  EXPECT_TRUE(bench.device->hazards().empty());
}

// The host writes whenever it likes, so not even one and the same stream may have the bytes early. Null is the device's
// own default stream here, and foreign like any other.
TEST_P(Pinned, TheDevicesDefaultStreamIsForeign) {
  PinnedBench bench(options());
  EXPECT_NE(bench.pinned.stream(nullptr).id(), kDefaultStream);
  EXPECT_EQ(bench.pinned.stream(nullptr).id(), bench.pinned.stream(nullptr).id());
  bench.device->hold(nullptr);
  auto block = *bench.pinned.allocate(40000);
  const Address at = block.address();
  bench.device->work(nullptr, 1000, {{at, {40000}}});
  block.used_on(bench.pinned.stream(nullptr));
  block.reset();
  EXPECT_NE((*bench.pinned.allocate(40000)).address(), at);
  bench.device->unhold(nullptr);
  bench.device->advance(10000);
  EXPECT_EQ((*bench.pinned.allocate(40000)).address(), at);
}

TEST_P(Pinned, RequestsOfAStreamAreRefused) {
  PinnedBench bench(options());
  const Stream stream = bench.pinned.stream(bench.device->create_stream());
  const Result<Allocation> block = bench.pinned.allocate(1000, stream);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code, ErrorCode::invalid);
  EXPECT_NE(block.error().message.find("used_on"), std::string::npos);
  EXPECT_FALSE(bench.pinned.allocate_raw(1000, bench.pinned.stream(nullptr)));
  EXPECT_TRUE(bench.pinned.allocate_raw(0));
}

TEST_P(Pinned, EmptyCacheWaitsForPendingCopies) {
  PinnedBench bench(options());
  void* const stream = bench.device->create_stream();
  auto block = *bench.pinned.allocate((5_MiB).count);
  bench.device->work(stream, 1'000'000'000, {{block.address(), 5_MiB}});
  block.used_on(bench.pinned.stream(stream));
  block.reset();
  EXPECT_EQ(bench.pinned.empty_cache(), 5_MiB);
  EXPECT_TRUE(bench.device->hazards().empty());
  expect_nothing_left(bench.pinned);
}

TEST_P(Pinned, TheLimitAndTheLadderAreThoseOfADevice) {
  Options limited = options();
  limited.memory_limit = 64_MiB;
  PinnedBench bench(limited);
  void* const stream = bench.device->create_stream();
  auto block = *bench.pinned.allocate((60_MiB).count);
  bench.device->work(stream, 1'000'000'000, {{block.address(), 60_MiB}});
  block.used_on(bench.pinned.stream(stream));
  block.reset();
  const auto other = bench.pinned.allocate((62_MiB).count);  // waits for the copy and gives the segment back
  ASSERT_TRUE(other) << other.error().message;
  const auto too_much = bench.pinned.allocate((4_MiB).count);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(bench.device->hazards().empty());
}

// A correct program: it writes from the host, queues copies, names the streams, and frees at once.
void run_program(PinnedBench& bench, std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  const std::vector<void*> streams = {nullptr, bench.device->create_stream(), bench.device->create_stream()};
  std::vector<Allocation> live(12);
  for (int i = 0; i < steps; ++i) {
    Allocation& one = live[random() % live.size()];
    one.reset();
    Result<Allocation> got = bench.pinned.allocate(1 + random() % (1ull << (random() % 24)));
    if (!got) continue;
    one = *std::move(got);
    for (std::uint64_t uses = random() % 3; uses > 0; --uses) {
      void* const stream = streams[random() % streams.size()];
      bench.device->work(stream, random() % 100000, {{one.address(), {one.size()}}});
      one.used_on(bench.pinned.stream(stream));
    }
    if (random() % 40 == 0) bench.pinned.empty_cache();
    if (random() % 10 == 0) bench.device->advance(20000);
  }
}

TEST_P(Pinned, NoByteIsReusedOrReleasedUnderACopy) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    PinnedBench bench(options());
    run_program(bench, seed, 400);
    for (const sim::Hazard& hazard : bench.device->hazards()) ADD_FAILURE() << describe(hazard);
    expect_nothing_left(bench.pinned);
    const sim::Holdings holdings = bench.device->holdings();
    EXPECT_EQ(holdings.host + holdings.registered, 0u);
  }
}

// Every copy reads what the host wrote before it, whatever the host does to freed blocks afterwards.
TEST_P(Pinned, CopiesSeeTheBytesOfTheirBlock) {
  PinnedBench bench(pinned_options(GetParam(), 4), sim::Backing::memfd);
  void* const stream = bench.device->create_stream();
  int wrong = 0;
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    auto block = *bench.pinned.allocate(static_cast<std::size_t>(1000 + 5000 * (i % 7)));
    std::memset(block.data(), i % 251, block.size());
    const auto* bytes = static_cast<const unsigned char*>(block.data());
    bench.device->work(stream, 5000, {{block.address(), {block.size()}}}, {}, [&, bytes, size = block.size(), i] {
      ++seen;
      wrong += bytes[0] != i % 251 || bytes[size - 1] != i % 251;
    });
    block.used_on(bench.pinned.stream(stream));
    if (i % 5 == 0) bench.device->advance(9000);
  }
  bench.pinned.empty_cache();
  EXPECT_EQ(seen, 300);
  EXPECT_EQ(wrong, 0);
}

// A fault at each driver call in turn, once and for good: nothing breaks, and once the faults are over all goes back.
TEST_P(Pinned, AFaultAtAnyCallLeavesEverythingSound) {
  for (const DriverCode code : {DriverCode::out_of_memory, DriverCode::other}) {
    for (const bool repeat : {false, true}) {
      for (std::uint64_t nth = 1;; ++nth) {
        ASSERT_LT(nth, 2000u);
        PinnedBench bench(options());
        const auto count = [&] {
          std::uint64_t sum = 0;
          for (const std::uint64_t calls : bench.device->call_counts()) sum += calls;
          return sum;
        };
        const std::uint64_t before = count();
        bench.device->fail_any(nth, code, repeat);
        run_program(bench, 5, 40);
        const bool struck = count() - before >= nth;
        bench.device->fail_any(0);
        ASSERT_EQ(bench.pinned.validate(), "") << "call " << nth;
        expect_nothing_left(bench.pinned);
        ASSERT_TRUE(bench.device->hazards().empty()) << "call " << nth;
        const sim::Holdings holdings = bench.device->holdings();
        ASSERT_EQ(holdings.host + holdings.registered, 0u) << "call " << nth;
        if (!struck) break;
        if (repeat) nth += 7;  // much the same from one call to the next
      }
    }
  }
}

// A device that is shutting down takes nothing back any more; this process's own memory goes all the same.
TEST(PinnedMemory, RegisteredMemoryGoesWithADeviceThatIsGone) {
  PinnedBench bench(pinned_options(true), sim::Backing::memfd);
  { const auto block = *bench.pinned.allocate((200_MiB).count); }
  const std::uint64_t before = resident();
  bench.device->fail(sim::Call::unregister_host, 1, DriverCode::gone, true);
  EXPECT_GE(bench.pinned.empty_cache(), 200_MiB);
  expect_nothing_left(bench.pinned);
  if (!kSanitized) {
    EXPECT_LE(resident() + (199_MiB).count, before);
  }
}

// The pages are there before the memory is registered, whatever the number of threads.
TEST(PinnedMemory, PagesAreTouchedBeforeTheyAreRegistered) {
  if (kSanitized) GTEST_SKIP() << "the size of a sanitized process is not its own";
  for (const std::uint32_t threads : {1u, 3u, 8u}) {
    PinnedBench bench(pinned_options(true, threads), sim::Backing::memfd);
    const std::uint64_t before = resident();
    const auto block = *bench.pinned.allocate((100_MiB).count);
    EXPECT_GE(resident(), before + (99_MiB).count);
  }
}

TEST(PinnedMemory, TheSpaceOutlivesTheDevicesAllocator) {
  auto device = std::make_shared<sim::Device>();
  auto pinned = [&] { return *open_pinned(*Allocator::open(device)); }();
  auto block = *pinned.allocate((3_MiB).count);
  block.reset();
  expect_nothing_left(pinned);
}

TEST(PinnedMemory, IsMadeForADeviceOnly) {
  PinnedBench bench;
  for (const Allocator& none : {*open_host(), *open_pinned(), bench.pinned}) {
    const Result<Allocator> refused = open_pinned(none);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_NE(refused.error().message.find("device with streams"), std::string::npos);
  }
}

// With the pytorch policy too: segments of 2 MiB and more, as on a device.
TEST(PinnedMemory, ThePytorchPolicyWorksToo) {
  Options options;
  options.policy = Policy::pytorch;
  PinnedBench bench(options);
  { const std::vector<Allocation> blocks = allocate_all(bench.pinned, {1000_B, 3_MiB, 30_MiB}); }
  expect_nothing_left(bench.pinned);
  EXPECT_EQ(bench.device->holdings(), sim::Holdings{});
}

}  // namespace
}  // namespace quarry::test
