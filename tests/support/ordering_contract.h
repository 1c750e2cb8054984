// What every driver's Ordering must do. For the list of drivers see driver_contract.h.
#pragma once

#include <array>
#include <set>
#include <thread>
#include <vector>

#include "support/contract_driver.h"

namespace quarry::contract {

class OrderingContract : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    if (driver_->ordering() == nullptr) GTEST_SKIP() << "no ordering";
  }
  void TearDown() override {
    for (void* stream : made_) GetParam().destroy_stream(*driver_, stream);
  }

  Ordering& ordering() { return *driver_->ordering(); }
  bool makes_streams() const { return GetParam().make_stream && GetParam().destroy_stream; }

  // A stream of its own where the driver's list says how to make one, else the default stream.
  void* stream() {
    if (!makes_streams()) return nullptr;
    return made_.emplace_back(GetParam().make_stream(*driver_));
  }
  EventHandle event() {
    const DriverResult<EventHandle> made = ordering().create_event();
    EXPECT_EQ(made.status.code, DriverCode::ok);
    return made.value;
  }
  std::uint64_t identity(void* stream) {
    const DriverResult<std::uint64_t> got = ordering().stream_identity(stream);
    EXPECT_EQ(got.status.code, DriverCode::ok);
    return got.value;
  }

  std::vector<void*> made_;
};

TEST_P(OrderingContract, AStreamKeepsItsIdentity) {
  void* const one = stream();
  EXPECT_NE(identity(one), 0u);
  EXPECT_NE(identity(nullptr), 0u);
  EXPECT_EQ(identity(one), identity(one));
  EXPECT_EQ(identity(nullptr), identity(nullptr));
}

TEST_P(OrderingContract, NoTwoStreamsShareAnIdentity) {
  if (!makes_streams()) GTEST_SKIP() << "only the default stream";
  std::set<std::uint64_t> seen = {identity(nullptr), identity(stream()), identity(stream())};
  EXPECT_EQ(seen.size(), 3u);
  for (int i = 0; i < 20; ++i) {  // handles may come again, identities not
    void* const next = GetParam().make_stream(*driver_);
    EXPECT_TRUE(seen.insert(identity(next)).second);
    GetParam().destroy_stream(*driver_, next);
  }
}

TEST_P(OrderingContract, AnEventThatWasNeverRecordedIsReady) {
  const EventHandle never = event();
  EXPECT_TRUE(ordering().query(never));
  EXPECT_TRUE(ordering().wait_on_host(never));
  EXPECT_TRUE(ordering().wait_on_stream(stream(), never));
  EXPECT_TRUE(ordering().destroy_event(never));
}

TEST_P(OrderingContract, AQueryAnswersReadyOrNotReady) {
  const EventHandle mark = event();
  ASSERT_TRUE(ordering().record(mark, stream()));
  const DriverCode code = ordering().query(mark).code;
  EXPECT_TRUE(code == DriverCode::ok || code == DriverCode::not_ready) << static_cast<int>(code);
  EXPECT_TRUE(ordering().destroy_event(mark)) << "also while it is pending";
}

TEST_P(OrderingContract, WaitingForAnEventFinishesIt) {
  const EventHandle mark = event();
  void* const one = stream();
  for (int round = 0; round < 3; ++round) {  // an event may be recorded again
    ASSERT_TRUE(ordering().record(mark, one));
    EXPECT_TRUE(ordering().wait_on_host(mark));
    EXPECT_TRUE(ordering().query(mark));
  }
  EXPECT_TRUE(ordering().destroy_event(mark));
}

TEST_P(OrderingContract, SynchronizingAStreamFinishesItsEvents) {
  void* const one = stream();
  const std::array<EventHandle, 2> marks = {event(), event()};
  for (const EventHandle mark : marks) ASSERT_TRUE(ordering().record(mark, one));
  EXPECT_TRUE(ordering().synchronize_stream(one));
  for (const EventHandle mark : marks) EXPECT_TRUE(ordering().query(mark));
  for (const EventHandle mark : marks) EXPECT_TRUE(ordering().destroy_event(mark));
}

TEST_P(OrderingContract, SynchronizingTheDeviceFinishesAllEvents) {
  const std::array<EventHandle, 3> marks = {event(), event(), event()};
  ASSERT_TRUE(ordering().record(marks[0], nullptr));
  ASSERT_TRUE(ordering().record(marks[1], stream()));
  ASSERT_TRUE(ordering().record(marks[2], stream()));
  EXPECT_TRUE(ordering().synchronize_device());
  for (const EventHandle mark : marks) EXPECT_TRUE(ordering().query(mark));
  for (const EventHandle mark : marks) EXPECT_TRUE(ordering().destroy_event(mark));
}

TEST_P(OrderingContract, EventsOfAStreamFinishInOrder) {
  void* const one = stream();
  const EventHandle first = event();
  const EventHandle second = event();
  ASSERT_TRUE(ordering().record(first, one));
  ASSERT_TRUE(ordering().record(second, one));
  EXPECT_TRUE(ordering().wait_on_host(second));
  EXPECT_TRUE(ordering().query(first));
  EXPECT_TRUE(ordering().destroy_event(first));
  EXPECT_TRUE(ordering().destroy_event(second));
}

TEST_P(OrderingContract, AStreamThatWaitsFinishesAfterWhatItWaitsFor) {
  void* const one = stream();
  void* const two = stream();
  const EventHandle first = event();
  const EventHandle second = event();
  ASSERT_TRUE(ordering().record(first, one));
  ASSERT_TRUE(ordering().wait_on_stream(two, first));
  ASSERT_TRUE(ordering().record(second, two));
  EXPECT_TRUE(ordering().wait_on_host(second));
  EXPECT_TRUE(ordering().query(first));
  EXPECT_TRUE(ordering().destroy_event(first));
  EXPECT_TRUE(ordering().destroy_event(second));
}

TEST_P(OrderingContract, ReleasingASegmentFinishesAllWork) {
  const EventHandle mark = event();
  const Address at = allocate({2 * kMiB});
  ASSERT_TRUE(ordering().record(mark, stream()));
  EXPECT_TRUE(memory().release_segment(at, {2 * kMiB}));
  EXPECT_TRUE(ordering().query(mark));
  EXPECT_TRUE(ordering().destroy_event(mark));
}

TEST_P(OrderingContract, NoCaptureIsOpenUnlessBegun) {
  for (void* const one : {stream(), static_cast<void*>(nullptr)}) {
    const DriverResult<bool> open = ordering().capture_open(one);
    ASSERT_TRUE(open);
    EXPECT_FALSE(open.value);
  }
}

TEST_P(OrderingContract, ThreadsUseStreamsOfTheirOwn) {
  constexpr std::size_t kThreads = 4;
  std::array<int, kThreads> wrong{};
  std::array<void*, kThreads> streams{};
  for (void*& one : streams) one = stream();
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      for (int round = 0; round < 25; ++round) {
        const DriverResult<EventHandle> mark = ordering().create_event();
        const bool good = mark && ordering().record(mark.value, streams[id]) && ordering().wait_on_host(mark.value) &&
                          ordering().query(mark.value) && ordering().destroy_event(mark.value);
        if (!good) ++wrong[id];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, kThreads>{}));
}

}  // namespace quarry::contract
