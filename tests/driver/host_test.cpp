// What the host driver promises beyond the contract.
#include <quarry/allocator/driver/host.h>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "support/sanitized.h"

namespace quarry {
namespace {

using namespace literals;

// True while the page at `at` belongs to a mapping of this process.
bool mapped(Address at) {
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(at.value), 1, &resident) == 0;
}

Address allocate(Driver& driver, Bytes size) {
  const DriverResult<Address> got = driver.memory().allocate_segment(size);
  EXPECT_TRUE(got) << "errno " << got.status.native;
  return got.value;
}

TEST(HostDriver, HasMappingButNoOrdering) {
  const auto driver = make_host_driver();
  EXPECT_NE(driver->mapping(), nullptr);
  EXPECT_EQ(driver->memory().capabilities().page_size.count % 4096, 0u);
  EXPECT_EQ(driver->ordering(), nullptr);
  EXPECT_TRUE(driver->memory().capabilities().readable);
}

TEST(HostDriver, LargeSegmentsAreAlignedToHugePages) {
  const auto driver = make_host_driver();
  for (const Bytes size : {2_MiB, 3_MiB, 2_MiB + 1_B, 20_MiB}) {
    const Address at = allocate(*driver, size);
    EXPECT_EQ(at.value % (2_MiB).count, 0u) << size.count;
    EXPECT_TRUE(driver->memory().release_segment(at, size));
  }
}

TEST(HostDriver, ReleasedMemoryIsNoLongerMapped) {
  const auto driver = make_host_driver();
  const Address at = allocate(*driver, 5_MiB);
  EXPECT_TRUE(mapped(at));
  EXPECT_TRUE(mapped(at + 5_MiB - 1_B - Bytes{(at + 5_MiB - 1_B).value % 4096}));
  ASSERT_TRUE(driver->memory().release_segment(at, 5_MiB));
  EXPECT_FALSE(mapped(at));
  EXPECT_FALSE(mapped(at + 4_MiB));
}

// Pages of address space this process has.
std::uint64_t address_space_pages() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages;
}

TEST(HostDriver, AlignmentLeavesNothingMappedBeside) {
  const auto driver = make_host_driver();
  const auto take_and_give = [&](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
      const Bytes size = 2_MiB + 4096_B * (7 * i);  // ends that the next mapping cannot line up with
      EXPECT_TRUE(driver->memory().release_segment(allocate(*driver, size), size));
    }
  };
  take_and_give(1);
  const std::uint64_t before = address_space_pages();
  take_and_give(100);
  EXPECT_LT(address_space_pages(), before + 1024) << "4 MiB; leftovers of up to 2 MiB each would be far more";
}

TEST(HostDriver, WhatWasNotReleasedGoesWithTheDriver) {
  auto driver = make_host_driver();
  const Address segment = allocate(*driver, 2_MiB);
  const DriverResult<Address> host = driver->memory().allocate_host(4096_B);
  ASSERT_TRUE(host);
  const Bytes page = driver->memory().capabilities().page_size;
  const DriverResult<Address> reserved = driver->mapping()->reserve(page * 2);
  const DriverResult<PageHandle> handle = driver->mapping()->create_page(page, {});
  ASSERT_TRUE(reserved);
  ASSERT_TRUE(handle);
  ASSERT_TRUE(driver->mapping()->map(reserved.value, page, &handle.value, 1));
  driver.reset();
  EXPECT_FALSE(mapped(segment));
  EXPECT_FALSE(mapped(reserved.value));
  EXPECT_FALSE(mapped(host.value));
}

TEST(HostDriver, RefusalsCarryErrno) {
  const auto driver = make_host_driver();
  EXPECT_EQ(driver->memory().allocate_segment(Bytes{1ull << 60}).status.native, ENOMEM);
  EXPECT_EQ(driver->memory().allocate_segment(0_B).status.native, EINVAL);
  EXPECT_EQ(driver->memory().release_segment({4096}, 4096_B).native, EINVAL);
}

TEST(HostDriver, UnmappedPagesKeepTheirBytesAndDestroyedOnesDoNot) {
  const auto driver = make_host_driver();
  Mapping& mapping = *driver->mapping();
  const DriverResult<Address> at = mapping.reserve(2_MiB);
  const DriverResult<PageHandle> page = mapping.create_page(2_MiB, {});
  ASSERT_TRUE(at && page);
  auto* const bytes = reinterpret_cast<volatile unsigned char*>(at.value.value);
  ASSERT_TRUE(mapping.map(at.value, 2_MiB, &page.value, 1));
  EXPECT_EQ(bytes[123], 0) << "a new page is zero";
  bytes[123] = 7;
  ASSERT_TRUE(mapping.unmap(at.value, 2_MiB));
  ASSERT_TRUE(mapping.map(at.value, 2_MiB, &page.value, 1));
  EXPECT_EQ(bytes[123], 7);
  ASSERT_TRUE(mapping.unmap(at.value, 2_MiB));
  ASSERT_TRUE(mapping.destroy_page(page.value));
  const DriverResult<PageHandle> next = mapping.create_page(2_MiB, {});
  ASSERT_TRUE(next);
  ASSERT_TRUE(mapping.map(at.value, 2_MiB, &next.value, 1));
  EXPECT_EQ(bytes[123], 0);
}

TEST(HostDriver, MoreThanTheMachineHasIsOutOfMemory) {
  const auto driver = make_host_driver();
  const DriverResult<MemoryInfo> info = driver->memory().info();
  ASSERT_TRUE(info);
  const Bytes page = driver->memory().capabilities().page_size;
  const Bytes too_much{(info.value.total + 1_GiB).count / page.count * page.count};
  EXPECT_EQ(driver->mapping()->create_page(too_much, {}).status.code, DriverCode::out_of_memory);
  EXPECT_EQ(driver->memory().allocate_segment(info.value.total + 1_GiB).status.code, DriverCode::out_of_memory);
}

TEST(HostDriver, UnmappedRangesAreNotRegistered) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  const auto driver = make_host_driver();
  const Address at = allocate(*driver, 2_MiB);
  ASSERT_TRUE(driver->memory().release_segment(at, 2_MiB));
  EXPECT_FALSE(driver->memory().register_host(at, 4096_B));
}

TEST(HostDriver, RangesOnOnePageAreNotRegisteredTogether) {
  const auto driver = make_host_driver();
  const Address at = allocate(*driver, 8192_B);
  const DriverStatus first = driver->memory().register_host(at, 100_B);
  if (!first) GTEST_SKIP() << "this process may not lock a page";
  EXPECT_EQ(driver->memory().register_host(at + 200_B, 100_B).code, DriverCode::invalid);
  EXPECT_TRUE(driver->memory().register_host(at + 4096_B, 100_B));
  EXPECT_TRUE(driver->memory().unregister_host(at));
  EXPECT_TRUE(driver->memory().unregister_host(at + 4096_B));
}

// Runs in a process of its own, which the limit may not outlive. Exits 0 when all holds.
[[noreturn]] void allocate_under_an_address_space_limit() {
  const auto driver = make_host_driver();
  const rlimit limit{1ull << 30, 1ull << 30};
  bool good = setrlimit(RLIMIT_AS, &limit) == 0;
  const DriverResult<MemoryInfo> info = driver->memory().info();
  good = good && info && info.value.total <= 1_GiB && info.value.free < 1_GiB;
  good = good && driver->memory().allocate_segment(1_GiB).status.code == DriverCode::out_of_memory;
  std::vector<Address> got;
  DriverResult<Address> next;
  while ((next = driver->memory().allocate_segment(32_MiB))) got.push_back(next.value);
  good = good && next.status.code == DriverCode::out_of_memory && got.size() > 1 && got.size() < 32;
  for (const Address at : got) good = good && driver->memory().release_segment(at, 32_MiB);
  good = good && driver->memory().allocate_segment(32_MiB);
  std::_Exit(good ? 0 : 1);
}

TEST(HostDriverDeathTest, ALimitOnAddressSpaceIsKept) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers reserve more address space than the limit";
  EXPECT_EXIT(allocate_under_an_address_space_limit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace quarry
