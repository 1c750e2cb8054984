// What every driver's Memory must do. For the list of drivers see driver_contract.h.
#pragma once

#include <array>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include "support/contract_driver.h"

namespace quarry::contract {

class MemoryContract : public ContractTest {};

TEST_P(MemoryContract, CapabilitiesAreStated) {
  const Capabilities capabilities = memory().capabilities();
  EXPECT_FALSE(capabilities.name.empty());
  EXPECT_GT(capabilities.segment_granularity.count, 0u);
  EXPECT_EQ(capabilities.segment_granularity.count % 512, 0u);
  EXPECT_EQ(capabilities.page_size.count > 0, driver_->mapping() != nullptr);
}

TEST_P(MemoryContract, InfoIsConsistent) {
  const DriverResult<MemoryInfo> info = memory().info();
  ASSERT_TRUE(info);
  EXPECT_GT(info.value.total.count, 0u);
  EXPECT_LE(info.value.free, info.value.total);
}

TEST_P(MemoryContract, SegmentsAreAligned) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{513}, 2 * kMiB, 11 * kMiB, 20 * kMiB}) {
    const Address at = allocate({size});
    EXPECT_NE(at.value, 0u);
    EXPECT_EQ(at.value % 512, 0u);
    EXPECT_TRUE(memory().release_segment(at, {size}));
  }
}

TEST_P(MemoryContract, LiveSegmentsDoNotMeet) {
  const std::array<Bytes, 5> sizes = {{{1}, {2 * kMiB}, {11 * kMiB}, {4096}, {20 * kMiB}}};
  std::map<Address, Bytes> live;
  for (int round = 0; round < 3; ++round) {
    for (const Bytes size : sizes) EXPECT_TRUE(live.emplace(allocate(size), size).second);
  }
  for (auto next = live.begin(), last = next++; next != live.end(); last = next++) {
    EXPECT_LE(last->first + last->second, next->first);
  }
  for (const auto& [at, size] : live) EXPECT_TRUE(memory().release_segment(at, size));
}

TEST_P(MemoryContract, ReadableMemoryHoldsWhatIsWritten) {
  if (!readable()) GTEST_SKIP() << "no bytes behind the addresses";
  constexpr Bytes kSize{3 * kMiB + 5};
  const std::array<Address, 3> at = {allocate(kSize), allocate(kSize), allocate(kSize)};
  for (std::size_t i = 0; i < at.size(); ++i) fill(at[i], kSize, static_cast<int>(i) + 1);
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_TRUE(holds(at[i], kSize, static_cast<int>(i) + 1));
  EXPECT_TRUE(memory().release_segment(at[1], kSize));
  EXPECT_TRUE(holds(at[0], kSize, 1));
  EXPECT_TRUE(holds(at[2], kSize, 3));
  EXPECT_TRUE(memory().release_segment(at[0], kSize));
  EXPECT_TRUE(memory().release_segment(at[2], kSize));
}

TEST_P(MemoryContract, SizeZeroIsInvalid) {
  EXPECT_EQ(memory().allocate_segment({0}).status.code, DriverCode::invalid);
  EXPECT_EQ(memory().allocate_host({0}).status.code, DriverCode::invalid);
  const Address at = allocate({kMiB});
  EXPECT_EQ(memory().register_host(at, {0}).code, DriverCode::invalid);
  EXPECT_TRUE(memory().release_segment(at, {kMiB}));
}

TEST_P(MemoryContract, WrongReleasesAreInvalidAndHarmless) {
  const Address at = allocate({4 * kMiB});
  EXPECT_EQ(memory().release_segment({0}, {4 * kMiB}).code, DriverCode::invalid);
  EXPECT_EQ(memory().release_segment(at + Bytes{512}, {4 * kMiB}).code, DriverCode::invalid);
  EXPECT_EQ(memory().release_segment(at, {2 * kMiB}).code, DriverCode::invalid);
  EXPECT_EQ(memory().release_segment(at, {0}).code, DriverCode::invalid);
  EXPECT_EQ(memory().release_host(at, {4 * kMiB}).code, DriverCode::invalid);
  if (readable()) {
    fill(at, {4 * kMiB}, 7);
    EXPECT_TRUE(holds(at, {4 * kMiB}, 7));
  }
  EXPECT_TRUE(memory().release_segment(at, {4 * kMiB}));
}

TEST_P(MemoryContract, DoubleReleaseIsInvalid) {
  const Address at = allocate({2 * kMiB});
  EXPECT_TRUE(memory().release_segment(at, {2 * kMiB}));
  EXPECT_EQ(memory().release_segment(at, {2 * kMiB}).code, DriverCode::invalid);
}

TEST_P(MemoryContract, AbsurdSizesAreOutOfMemoryAndNotSticky) {
  for (const std::uint64_t size : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, kMost - kMiB, kMost - 511, kMost}) {
    EXPECT_EQ(memory().allocate_segment({size}).status.code, DriverCode::out_of_memory) << size;
    EXPECT_EQ(memory().allocate_host({size}).status.code, DriverCode::out_of_memory) << size;
    const Address at = allocate({2 * kMiB});
    EXPECT_TRUE(memory().release_segment(at, {2 * kMiB}));
  }
}

TEST_P(MemoryContract, HostMemoryIsGivenAndTakenBack) {
  constexpr Bytes kSize{kMiB + 1};
  const DriverResult<Address> first = memory().allocate_host(kSize);
  const DriverResult<Address> second = memory().allocate_host(kSize);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first.value.value % 512, 0u);
  const auto [low, high] = std::minmax(first.value, second.value);
  EXPECT_LE(low + kSize, high);
  EXPECT_EQ(memory().release_segment(first.value, kSize).code, DriverCode::invalid);
  EXPECT_EQ(memory().release_host(first.value, {1}).code, DriverCode::invalid);
  EXPECT_TRUE(memory().release_host(first.value, kSize));
  EXPECT_EQ(memory().release_host(first.value, kSize).code, DriverCode::invalid);
  EXPECT_TRUE(memory().release_host(second.value, kSize));
}

TEST_P(MemoryContract, CallersMemoryIsRegisteredOnce) {
  constexpr std::size_t kSize = 16384;
  struct alignas(4096) Pages {
    std::array<char, kSize> bytes{};
  };
  const auto pages = std::make_unique<Pages>();
  const Address at{reinterpret_cast<std::uint64_t>(pages.get())};
  EXPECT_EQ(memory().unregister_host(at).code, DriverCode::invalid);
  const DriverStatus first = memory().register_host(at, {kSize});
  if (first.code == DriverCode::unsupported || first.code == DriverCode::out_of_memory) {
    GTEST_SKIP() << "this process may not lock 16 KiB";
  }
  ASSERT_TRUE(first);
  EXPECT_EQ(memory().register_host(at, {kSize}).code, DriverCode::invalid);
  EXPECT_EQ(memory().register_host(at + Bytes{4096}, {4096}).code, DriverCode::invalid);
  EXPECT_EQ(memory().unregister_host(at + Bytes{4096}).code, DriverCode::invalid);
  EXPECT_TRUE(memory().unregister_host(at));
  EXPECT_EQ(memory().unregister_host(at).code, DriverCode::invalid);
}

TEST_P(MemoryContract, RegisteringNothingOrTooMuchIsRefused) {
  EXPECT_EQ(memory().register_host({0}, {4096}).code, DriverCode::invalid);
  EXPECT_EQ(memory().register_host({kMost - 4095}, {8192}).code, DriverCode::invalid);
  EXPECT_EQ(memory().register_host({4096}, {kMost}).code, DriverCode::invalid);
}

TEST_P(MemoryContract, ClockDoesNotRunBackwards) {
  std::uint64_t last = memory().clock_ns();
  for (int i = 0; i < 20; ++i) {
    const Address at = allocate({2 * kMiB});
    EXPECT_TRUE(memory().release_segment(at, {2 * kMiB}));
    const std::uint64_t now = memory().clock_ns();
    EXPECT_GE(now, last);
    last = now;
  }
}

// Each thread marks its segments where it can: another thread's mark would mean one range was given twice.
TEST_P(MemoryContract, ThreadsGetDistinctSegments) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  constexpr Bytes kSize{kMiB};
  std::array<int, kThreads> wrong{};
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      int& bad = wrong[static_cast<std::size_t>(id)];
      for (int round = 0; round < kRounds; ++round) {
        const DriverResult<Address> got = memory().allocate_segment(kSize);
        if (!got) {
          ++bad;
          continue;
        }
        if (readable()) fill(got.value, kSize, id + 1);
        if (readable() && !holds(got.value, kSize, id + 1)) ++bad;
        if (!memory().release_segment(got.value, kSize)) ++bad;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, kThreads>{}));
}

}  // namespace quarry::contract
