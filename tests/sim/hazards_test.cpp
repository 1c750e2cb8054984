// The hazard checker: each kind of edge removes a hazard, its absence is found, whatever the time at which things run.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/hazard_fixture.h"

namespace quarry::sim {
namespace {

TEST_P(HazardChecker, WorkOnTwoStreamsWithoutAnEdgeConflicts) {
  const std::uint64_t earlier = writes(one_, bytes_);
  reads(one_, {at_ + 1_MiB, 512_B});
  let_it_run();  // being over is not being ordered
  const ByteRange part{at_ + 512_B, 8192_B};
  const std::uint64_t later = reads(two_, part);
  const std::vector<Hazard> hazards = device_.take_hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(
      hazards[0],
      (Hazard{HazardKind::conflict, {identity(one_), earlier, bytes_, true}, {identity(two_), later, part, false}}));
  EXPECT_EQ(found(), 0u) << "taken";
}

TEST_P(HazardChecker, EveryPairWithAWriteConflicts) {
  writes(one_, {at_, 512_B});
  writes(two_, {at_, 512_B});
  EXPECT_EQ(found(), 1u) << "write, write";
  reads(one_, {at_ + 1_MiB, 512_B});
  writes(two_, {at_ + 1_MiB, 512_B});
  EXPECT_EQ(found(), 1u) << "read, write";
  reads(one_, {at_ + 512_B, 512_B});
  reads(two_, {at_ + 512_B, 512_B});
  EXPECT_EQ(found(), 0u) << "read, read";
}

TEST_P(HazardChecker, OnlyTheSameBytesConflict) {
  writes(one_, {at_, 4096_B});
  writes(two_, {at_ + 4096_B, 4096_B});
  EXPECT_EQ(found(), 0u);
  writes(three_, {at_ + 4095_B, 2_B});
  EXPECT_EQ(found(), 2u) << "one byte of each";
}

// ---- Each kind of edge ----

TEST_P(HazardChecker, AStreamIsInOrder) {
  writes(one_, bytes_);
  writes(one_, bytes_);
  reads(one_, bytes_);
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, RecordAndWaitAreAnEdge) {
  writes(one_, bytes_);
  edge(one_, two_);
  writes(two_, bytes_);
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, AnEventRecordedTooEarlyIsNone) {
  const EventHandle early = recorded(one_);
  writes(one_, bytes_);
  EXPECT_TRUE(device_.wait_on_stream(two_, early));
  writes(two_, bytes_);
  EXPECT_EQ(found(), 1u);
}

TEST_P(HazardChecker, AWaitOrdersOnlyWhatComesAfterIt) {
  writes(one_, bytes_);
  const EventHandle mark = recorded(one_);
  writes(two_, bytes_);
  EXPECT_EQ(found(), 1u);
  EXPECT_TRUE(device_.wait_on_stream(two_, mark));
  writes(two_, {at_, 512_B});
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, EdgesChain) {
  writes(one_, bytes_);
  edge(one_, two_);
  edge(two_, three_);
  writes(three_, bytes_);
  EXPECT_EQ(found(), 0u);
  reads(one_, bytes_);
  EXPECT_EQ(found(), 1u) << "they lead one way only";
}

TEST_P(HazardChecker, WaitingOnTheHostIsAnEdgeToAllStreams) {
  writes(one_, bytes_);
  EXPECT_TRUE(device_.wait_on_host(recorded(one_)));
  writes(two_, bytes_);
  EXPECT_EQ(found(), 0u);
  EXPECT_TRUE(device_.synchronize_stream(two_));
  writes(three_, bytes_);
  EXPECT_EQ(found(), 0u);
  EXPECT_TRUE(device_.synchronize_device());
  writes(one_, bytes_);
  EXPECT_EQ(found(), 0u);
  device_.finish(one_);
  writes(two_, bytes_);
  EXPECT_EQ(found(), 0u) << "the program's own wait";
}

TEST_P(HazardChecker, ASuccessfulQueryIsAnEdgeAndAnotherIsNot) {
  writes(one_, bytes_);
  const EventHandle mark = recorded(one_);
  const bool ready = static_cast<bool>(device_.query(mark));
  EXPECT_EQ(ready, GetParam() == Pace::at_once);
  reads(two_, bytes_);
  EXPECT_EQ(found(), ready ? 0u : 1u);
  let_it_run();
  EXPECT_TRUE(device_.query(mark));
  reads(three_, bytes_);
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, WhatAStreamWaitedForIsSeenWithIt) {
  writes(one_, bytes_);
  edge(one_, two_);
  EXPECT_TRUE(device_.synchronize_stream(two_));
  writes(three_, bytes_);
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, TheEarlierReadOfASecondStreamIsNotForgotten) {
  writes(one_, bytes_);
  edge(one_, two_);
  edge(one_, three_);
  reads(two_, bytes_);
  reads(three_, bytes_);
  edge(three_, one_);
  EXPECT_EQ(found(), 0u);
  writes(one_, bytes_);  // comes after the read of three, not after that of two
  const std::vector<Hazard> hazards = device_.take_hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].earlier.stream, identity(two_));
}

// ---- The end of a range ----

TEST_P(HazardChecker, ReleasingUnderWorkTheHostHasNotSeenIsAHazard) {
  const std::uint64_t last = reads(one_, bytes_);
  EXPECT_TRUE(device_.release_segment(at_, 2_MiB));
  const std::vector<Hazard> hazards = device_.take_hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0],
            (Hazard{HazardKind::release, {identity(one_), last, bytes_, false}, {0, 0, {at_, 2_MiB}, true}}));
}

TEST_P(HazardChecker, ReleasingAfterTheHostSawTheEndIsNone) {
  writes(one_, bytes_);
  edge(one_, two_);
  reads(two_, bytes_);
  EXPECT_TRUE(device_.synchronize_stream(two_));
  EXPECT_TRUE(device_.release_segment(at_, 2_MiB));
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, AnEdgeToAnotherStreamDoesNotAllowARelease) {
  writes(one_, bytes_);
  edge(one_, two_);
  EXPECT_TRUE(device_.release_segment(at_, 2_MiB));
  EXPECT_EQ(found(), 1u);
}

TEST_P(HazardChecker, AReleaseMayBeTakenAsASynchronisation) {
  Device device({.capacity = 1_GiB, .release_orders = true});
  const Address first = device.allocate_segment(2_MiB).value;
  const Address second = device.allocate_segment(2_MiB).value;
  device.work(one_, duration(), {}, {{first, 512_B}, {second, 512_B}});
  EXPECT_TRUE(device.release_segment(first, 2_MiB));
  device.work(two_, duration(), {}, {{second, 512_B}});
  EXPECT_TRUE(device.hazards().empty());
}

TEST_P(HazardChecker, HostMemoryIsJudgedToo) {
  const Address host = device_.allocate_host(4096_B).value;
  writes(one_, {host, 4096_B});
  EXPECT_TRUE(device_.release_host(host, 4096_B));
  EXPECT_EQ(found(), 1u);
  EXPECT_TRUE(device_.register_host({4096}, 4096_B));
  reads(one_, {{4096}, 4096_B});
  EXPECT_EQ(found(), 0u);
  EXPECT_TRUE(device_.unregister_host({4096}));
  EXPECT_EQ(found(), 1u);
}

TEST_P(HazardChecker, ANewSegmentAtAnOldAddressStartsAfresh) {
  writes(one_, bytes_);
  EXPECT_TRUE(device_.synchronize_stream(one_));
  EXPECT_TRUE(device_.release_segment(at_, 2_MiB));
  EXPECT_EQ(device_.allocate_segment(2_MiB).value, at_);
  writes(two_, bytes_);
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, WorkWhereThereIsNoMemoryIsStray) {
  EXPECT_TRUE(device_.release_segment(at_, 2_MiB));
  const std::uint64_t sequence = reads(one_, bytes_);
  const std::vector<Hazard> hazards = device_.take_hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0], (Hazard{HazardKind::stray, {}, {identity(one_), sequence, bytes_, false}}));
  const Address at = device_.allocate_segment(2_MiB).value;
  writes(one_, {at + 1_MiB, 1_MiB + 1_B});
  EXPECT_EQ(found(), 1u) << "one byte too far";
}

// ---- Streams ----

TEST_P(HazardChecker, ARecreatedHandleIsAnotherStream) {
  void* const handle = device_.create_stream();
  if (GetParam() == Pace::held) device_.hold(handle);
  writes(handle, bytes_);
  EXPECT_TRUE(device_.destroy_stream(handle));
  ASSERT_EQ(device_.create_stream(), handle);
  writes(handle, bytes_);
  EXPECT_EQ(found(), 1u);
}

TEST_P(HazardChecker, TheDeviceSynchronisationSeesDestroyedStreamsToo) {
  void* const handle = device_.create_stream();
  writes(handle, bytes_);
  EXPECT_TRUE(device_.destroy_stream(handle));
  EXPECT_TRUE(device_.synchronize_device());
  writes(one_, bytes_);
  EXPECT_EQ(found(), 0u);
}

TEST_P(HazardChecker, ManyStreamsComeAndGo) {
  for (int i = 0; i < 200; ++i) {
    void* const handle = device_.create_stream();
    const std::uint64_t first = writes(handle, bytes_);
    EXPECT_EQ(first, 1u) << "a stream counts from 1";
    if (i % 3 == 0) {
      EXPECT_TRUE(device_.synchronize_stream(handle));
    } else {
      edge(handle, one_);
      EXPECT_TRUE(device_.synchronize_stream(one_));
    }
    EXPECT_TRUE(device_.destroy_stream(handle));
  }
  EXPECT_EQ(found(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Paces, HazardChecker, kPaces, pace_name);

TEST(DescribeHazard, NamesBothSides) {
  const Use write{3, 7, {{4096}, 512_B}, true};
  const Use read{4, 1, {{4352}, 1024_B}, false};
  EXPECT_EQ(describe({HazardKind::conflict, write, read}),
            "work 1 of stream 4 reads 1024 bytes at 4352, but nothing orders it after: "
            "work 7 of stream 3 writes 512 bytes at 4096");
  EXPECT_EQ(describe({HazardKind::unmap, read, {0, 0, {{0}, 8192_B}, true}}),
            "8192 bytes at 0 unmapped, but the host has not seen the end of: work 1 of stream 4 reads 1024 bytes at "
            "4352");
  EXPECT_NE(describe({HazardKind::release, read, write}).find("released"), std::string::npos);
  EXPECT_NE(describe({HazardKind::stray, {}, read}).find("no memory"), std::string::npos);
}

}  // namespace
}  // namespace quarry::sim
