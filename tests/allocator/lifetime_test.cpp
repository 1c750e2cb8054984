// Who owns a block, how long a space lives, and what a wrong request or a wrong free is answered with.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/check.h>
#include <quarry/allocator/sim/device.h>

#include "support/pytorch.h"

namespace quarry {
namespace {

using namespace literals;

struct CheckFailed : std::logic_error {
  using std::logic_error::logic_error;
};

// A failed CHECK throws for the length of a test.
class Lifetime : public testing::Test {
 protected:
  Lifetime() : previous_(set_check_handler([](const CheckFailure& f) { throw CheckFailed(f.message); })) {}
  ~Lifetime() override { set_check_handler(previous_); }

  static std::uint64_t segment_calls(const sim::Device& device) {
    return device.call_counts()[static_cast<std::size_t>(sim::Call::allocate_segment)];
  }

  std::shared_ptr<sim::Device> device_ = std::make_shared<sim::Device>(sim::DeviceOptions{.capacity = 100_MiB});
  Allocator allocator_ = *Allocator::open(device_, pytorch_options());

 private:
  CheckHandler previous_;
};

TEST_F(Lifetime, AnAllocationGivesBackAtTheEndOfItsScope) {
  {
    const Allocation block = *allocator_.allocate(1000);
    EXPECT_TRUE(block);
    EXPECT_EQ(block.size(), 1000u);
    EXPECT_EQ(block.block_size(), 1024u);
    EXPECT_EQ(allocator_.ledger().requested, 1000_B);
  }
  EXPECT_EQ(allocator_.ledger().requested, 0_B);
}

TEST_F(Lifetime, MovingPassesOwnership) {
  static_assert(!std::is_copy_constructible_v<Allocation> && std::is_nothrow_move_constructible_v<Allocation>);
  Allocation first = *allocator_.allocate(1000);
  void* const pointer = first.data();
  Allocation second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): moved-from is empty by contract
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(second.data(), pointer);
  Allocation third = *allocator_.allocate(2000);
  third = std::move(second);
  EXPECT_EQ(third.data(), pointer);
  EXPECT_EQ(allocator_.ledger().requested, 1000_B);
  EXPECT_EQ(allocator_.ledger().live_blocks, 1u);
  third = Allocation{};
  EXPECT_EQ(allocator_.ledger().live_blocks, 0u);
}

TEST_F(Lifetime, MovingOntoItselfKeepsTheBlock) {
  Allocation block = *allocator_.allocate(1000);
  Allocation& same = block;
  block = std::move(same);
  EXPECT_TRUE(block);
  EXPECT_EQ(allocator_.ledger().live_blocks, 1u);
}

TEST_F(Lifetime, ResetFreesOnce) {
  Allocation block = *allocator_.allocate(1000);
  block.reset();
  block.reset();
  EXPECT_FALSE(block);
  EXPECT_EQ(allocator_.ledger().live_blocks, 0u);
  EXPECT_EQ(allocator_.counters()[Metric::allocation].all.freed, 1);
}

TEST_F(Lifetime, ReleaseHandsTheBlockToTheCaller) {
  Allocation block = *allocator_.allocate(1000);
  void* const pointer = block.release();
  EXPECT_FALSE(block);
  EXPECT_EQ(allocator_.ledger().live_blocks, 1u);
  allocator_.deallocate(pointer);
  EXPECT_EQ(allocator_.ledger().live_blocks, 0u);
}

TEST_F(Lifetime, SizedDeallocateIsChecked) {
  const Stream other = allocator_.stream(&device_);
  void* const pointer = *allocator_.allocate_raw(1000, other);
  EXPECT_THROW(allocator_.deallocate(pointer, 1024, other), CheckFailed);
  EXPECT_THROW(allocator_.deallocate(pointer, 1000, Stream{}), CheckFailed);
  EXPECT_EQ(allocator_.ledger().live_blocks, 1u);
  allocator_.deallocate(pointer, 1000, other);
  EXPECT_EQ(allocator_.ledger().live_blocks, 0u);
  allocator_.deallocate(nullptr, 0, other);
}

TEST_F(Lifetime, AWrongFreeIsACheckFailure) {
  auto* const pointer = static_cast<char*>(*allocator_.allocate_raw((1_MiB).count));
  EXPECT_THROW(allocator_.deallocate(pointer + 512), CheckFailed) << "inside a block";
  EXPECT_THROW(allocator_.deallocate(pointer + (1_MiB).count), CheckFailed) << "a free block";
  EXPECT_THROW(allocator_.deallocate(&device_), CheckFailed) << "foreign";
  allocator_.deallocate(pointer);
  EXPECT_THROW(allocator_.deallocate(pointer), CheckFailed) << "freed twice";
  allocator_.deallocate(nullptr);
  EXPECT_EQ(allocator_.validate(), "");
}

TEST_F(Lifetime, AStreamOfAnotherAllocatorIsACheckFailure) {
  Allocator other = *sim::open();
  const Stream stream = other.stream(&device_);
  EXPECT_THROW((void)allocator_.allocate(512, stream), CheckFailed);
  EXPECT_THROW((void)allocator_.allocate_raw(512, stream), CheckFailed);
}

TEST_F(Lifetime, TheSpaceOutlivesItsHandles) {
  Allocation first = *allocator_.allocate(1000);
  Allocation second = *allocator_.allocate((30_MiB).count);
  {
    const Allocator copy = allocator_;
    const Allocator dropped = std::exchange(allocator_, *sim::open());
  }
  EXPECT_EQ(device_->in_use(), 32_MiB);
  first.reset();
  EXPECT_EQ(device_->in_use(), 32_MiB);
  second.reset();
  EXPECT_EQ(device_->in_use(), 0_B);
  EXPECT_EQ(device_.use_count(), 1);
}

TEST_F(Lifetime, TheLastHandleGivesEverythingBack) {
  { const Allocation block = *allocator_.allocate((5_MiB).count); }
  EXPECT_EQ(device_->in_use(), 20_MiB);
  allocator_ = *sim::open();
  EXPECT_EQ(device_->in_use(), 0_B);
  EXPECT_EQ(device_.use_count(), 1);
}

// Each space that a thread told its current stream was kept in the thread for ever, and looked through by the next.
TEST_F(Lifetime, SpacesThatAreGoneLeaveNothingInAThread) {
  const auto heap_bytes = [] { return mallinfo2().uordblks; };
  if (heap_bytes() == 0) GTEST_SKIP() << "sanitizers do not count the process heap";
  const auto open_and_close = [&](int times) {
    for (int i = 0; i < times; ++i) Allocator::open(device_, pytorch_options())->make_current(Stream());
  };
  open_and_close(1000);
  const std::size_t before = heap_bytes();
  open_and_close(10'000);
  EXPECT_LT(heap_bytes(), before + 50'000);
}

TEST_F(Lifetime, NoBytesAreANullBlock) {
  const Counters before = allocator_.counters();
  const Result<Allocation> block = allocator_.allocate(0);
  ASSERT_TRUE(block);
  EXPECT_FALSE(*block);
  EXPECT_EQ(block->data(), nullptr);
  EXPECT_EQ(*allocator_.allocate_raw(0), nullptr);
  EXPECT_EQ(allocator_.counters(), before);
}

TEST_F(Lifetime, AbsurdSizesAreRefusedWithoutTheDriver) {
  const Counters before = allocator_.counters();
  for (const std::size_t size : {std::size_t{1} << 60, (std::size_t{1} << 63) + 1, SIZE_MAX - 511, SIZE_MAX}) {
    const Result<Allocation> block = allocator_.allocate(size);
    ASSERT_FALSE(block) << size;
    EXPECT_EQ(block.error().code, ErrorCode::out_of_memory) << size;
  }
  EXPECT_EQ(segment_calls(*device_), 0u);
  EXPECT_EQ(allocator_.counters(), before);
}

// One byte less is an ordinary request, and so is the cap itself for plain pointers (conformance, finding 2).
TEST_F(Lifetime, BelowTheCapTheDriverIsAsked) {
  EXPECT_FALSE(allocator_.allocate((std::size_t{1} << 60) - 1));
  EXPECT_EQ(segment_calls(*device_), 2u);
  EXPECT_FALSE(allocator_.allocate_raw(std::size_t{1} << 60));
  EXPECT_EQ(segment_calls(*device_), 4u);
  EXPECT_EQ(allocator_.counters()[Tally::num_ooms], 2u);
}

TEST_F(Lifetime, PlainPointersWhoseRoundingLeaves64BitsAreAnError) {
  ASSERT_TRUE(allocator_.configure("roundup_power2_divisions:2"));
  for (const std::size_t size : {std::size_t{3} << 62, SIZE_MAX - 511, SIZE_MAX}) {
    EXPECT_FALSE(allocator_.allocate_raw(size)) << size;
  }
  EXPECT_EQ(allocator_.validate(), "");
}

TEST_F(Lifetime, WhatARequestMayNotAskIsRefused) {
  const auto code = [&](const Request& request) { return allocator_.allocate(request).error().code; };
  EXPECT_EQ(code({.size = 512_B, .alignment = 48_B}), ErrorCode::invalid);
  EXPECT_EQ(code({.size = 512_B, .alignment = 0_B}), ErrorCode::invalid);
  EXPECT_EQ(code({.size = 512_B, .alignment = 4096_B}), ErrorCode::unsupported);
  EXPECT_EQ(code({.size = 512_B, .pool = {0, 7}}), ErrorCode::invalid);
  EXPECT_EQ(allocator_.ledger().live_blocks, 0u);
}

TEST_F(Lifetime, AllocateOrThrow) {
  EXPECT_EQ(allocator_.allocate_or_throw(1000).size(), 1000u);
  try {
    (void)allocator_.allocate_or_throw((200_MiB).count);
    FAIL() << "did not throw";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(std::string(error.what()), allocator_.allocate((200_MiB).count).error().message);
  }
  device_->fail(sim::Call::allocate_segment, 1, DriverCode::other);
  EXPECT_THROW((void)allocator_.allocate_or_throw((50_MiB).count), std::runtime_error);
}

// 42 MiB reserved, 30 MiB held by others, a device of 100 MiB: the figures of that instant are in the text.
TEST_F(Lifetime, OutOfMemorySaysWhy) {
  device_->set_outside(30_MiB);
  const Allocation small = *allocator_.allocate(1536);
  const Allocation large = *allocator_.allocate((40_MiB).count);
  const Result<Allocation> refused = allocator_.allocate((50_MiB).count);
  ASSERT_FALSE(refused);
  const std::string& text = refused.error().message;
  for (const char* part :
       {"52428800 bytes", "50.00 MiB", "allocated 40.00 MiB", "stranded 2.00 MiB", "reserved 42.00 MiB",
        "outside 30.00 MiB", "device free 28.00 MiB", "device 100.00 MiB", "largest free block 2.00 MiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in:\n" << text;
  }
}

}  // namespace
}  // namespace quarry
