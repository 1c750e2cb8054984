// Pinned memory without a device: locked as far as the process may, and said so where it may not.
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>

#include "host/host_bench.h"

namespace quarry::test {
namespace {

// Bytes this process has locked.
std::uint64_t locked() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "VmLck:" && file >> kib) return kib << 10;
  }
  return 0;
}

TEST(Locked, SmallMemoryIsLocked) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  Allocator pinned = *open_pinned();
  const std::uint64_t before = locked();
  auto block = *pinned.allocate(10000);
  std::memset(block.data(), 1, block.size());
  if (pinned.stats().device.find(" not (") != std::string::npos) GTEST_SKIP() << "this process may not lock 64 KiB";
  EXPECT_EQ(locked(), before + (64_KiB).count);
  EXPECT_NE(pinned.stats().device.find("locked"), std::string::npos);
  block.reset();
  EXPECT_EQ(locked(), before + (64_KiB).count) << "cached memory stays locked";
  expect_nothing_left(pinned);
  EXPECT_EQ(locked(), before);
}

TEST(Locked, StreamsMeanNothingHere) {
  Allocator pinned = *open_pinned();
  int handle = 0;
  auto block = *pinned.allocate(1000);
  const Address at = block.address();
  block.used_on(pinned.stream(&handle));
  block.reset();
  EXPECT_EQ((*pinned.allocate(1000)).address(), at) << "there is no device that could still read it";
  EXPECT_FALSE(pinned.allocate(1000, pinned.stream(&handle)));
}

// Runs in a process of its own, which gives up what lets it lock more than the limit. Exits 0 when all holds, 2 where
// it could not give that up.
[[noreturn]] void lock_under_a_limit() {
  const rlimit limit{1 << 20, 1 << 20};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) std::_Exit(2);
  if (geteuid() == 0 && setuid(65534) != 0) std::_Exit(2);
  Allocator pinned = *open_pinned();
  const auto small = pinned.allocate(10000);
  bool good =
      static_cast<bool>(small) && pinned.stats().device.find(", locked (limit 1048576 bytes)") != std::string::npos;
  const std::uint64_t before = locked();
  {
    const auto large = pinned.allocate((8_MiB).count);  // handed out all the same
    good = good && large;
    if (large) std::memset(large->data(), 1, large->size());
    const std::string said = pinned.stats().device;
    good = good && said.find("65536 bytes locked, 8388608 not (limit 1048576 bytes)") != std::string::npos;
    good = good && locked() == before;
  }
  pinned.empty_cache();
  good = good && pinned.stats().device.find(", locked (") != std::string::npos;
  std::_Exit(good ? 0 : 1);
}

TEST(LockedDeathTest, WhatMayNotBeLockedIsSaid) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  int exit = -1;
  EXPECT_EXIT(
      lock_under_a_limit(),
      [&](int status) {
        exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return exit == 0 || exit == 2;
      },
      "");
  if (exit == 2) GTEST_SKIP() << "this process cannot lower its limit on locked memory";
}

}  // namespace
}  // namespace quarry::test
