// What the simulated device's Ordering promises beyond the contract: holding, virtual time, handles, captures, the log.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <quarry/allocator/sim/device.h>

namespace quarry::sim {
namespace {

using namespace literals;

// A stream by the small number that a case file gives it.
void* stream(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class SimOrdering : public ::testing::Test {
 protected:
  EventHandle event() { return device_.create_event().value; }
  EventHandle recorded(void* on) {
    const EventHandle mark = event();
    EXPECT_TRUE(device_.record(mark, on));
    return mark;
  }
  DriverCode query(EventHandle mark) { return device_.query(mark).code; }
  std::uint64_t identity(void* handle) { return device_.stream_identity(handle).value; }

  Device device_{DeviceOptions{.capacity = 1_GiB, .profile = "free", .record_calls = true}};
};

TEST_F(SimOrdering, CanBeSwitchedOff) {
  EXPECT_NE(device_.ordering(), nullptr);
  EXPECT_EQ(Device({.ordering = false}).ordering(), nullptr);
}

// ---- Holding ----

TEST_F(SimOrdering, EventsAreFinishedAtOnce) { EXPECT_EQ(query(recorded(stream(1))), DriverCode::ok); }

TEST_F(SimOrdering, EventsOfAHeldStreamStayPending) {
  const EventHandle before = recorded(stream(1));
  device_.hold(stream(1));
  const EventHandle first = recorded(stream(1));
  EXPECT_EQ(query(before), DriverCode::ok);
  EXPECT_EQ(query(first), DriverCode::not_ready);
  EXPECT_EQ(query(recorded(stream(2))), DriverCode::ok) << "another stream";
  device_.complete(stream(1));
  const EventHandle second = recorded(stream(1));
  EXPECT_EQ(query(first), DriverCode::ok);
  EXPECT_EQ(query(second), DriverCode::not_ready) << "still held";
  device_.hold(stream(1));
  EXPECT_EQ(query(second), DriverCode::not_ready) << "holding twice changes nothing";
  device_.unhold(stream(1));
  EXPECT_EQ(query(second), DriverCode::ok);
  EXPECT_EQ(query(recorded(stream(1))), DriverCode::ok);
}

TEST_F(SimOrdering, AWaitFinishesWhatItWaitsForAndNoMore) {
  device_.hold(stream(1));
  const EventHandle first = recorded(stream(1));
  const EventHandle second = recorded(stream(1));
  EXPECT_TRUE(device_.wait_on_host(first));
  EXPECT_EQ(query(first), DriverCode::ok);
  EXPECT_EQ(query(second), DriverCode::not_ready);
  EXPECT_TRUE(device_.synchronize_stream(stream(1)));
  EXPECT_EQ(query(second), DriverCode::ok);
  EXPECT_EQ(query(recorded(stream(1))), DriverCode::not_ready) << "the hold goes on";
}

TEST_F(SimOrdering, DeviceWaitsAndReleasesFinishAllStreams) {
  device_.hold(stream(1));
  device_.hold(stream(2));
  const EventHandle one = recorded(stream(1));
  EXPECT_TRUE(device_.synchronize_device());
  EXPECT_EQ(query(one), DriverCode::ok);
  const EventHandle two = recorded(stream(2));
  const Address segment = device_.allocate_segment(2_MiB).value;
  EXPECT_EQ(query(two), DriverCode::not_ready);
  EXPECT_FALSE(device_.release_segment(segment, 4_MiB));
  EXPECT_EQ(query(two), DriverCode::not_ready) << "a refused release waits for nothing";
  EXPECT_TRUE(device_.release_segment(segment, 2_MiB));
  EXPECT_EQ(query(two), DriverCode::ok);
}

TEST_F(SimOrdering, UnmappingWaitsForNothing) {
  device_.hold(stream(1));
  const EventHandle mark = recorded(stream(1));
  const Address at = device_.reserve(2_MiB).value;
  const PageHandle page = device_.create_page(2_MiB, {}).value;
  EXPECT_TRUE(device_.map(at, 2_MiB, &page, 1));
  EXPECT_TRUE(device_.unmap(at, 2_MiB));
  EXPECT_TRUE(device_.destroy_page(page));
  EXPECT_TRUE(device_.unreserve(at, 2_MiB));
  EXPECT_EQ(query(mark), DriverCode::not_ready);
}

TEST_F(SimOrdering, AStreamThatWaitsForAHeldOneIsHeldUp) {
  device_.hold(stream(1));
  const EventHandle first = recorded(stream(1));
  EXPECT_TRUE(device_.wait_on_stream(stream(2), first));
  const EventHandle second = recorded(stream(2));
  EXPECT_EQ(query(second), DriverCode::not_ready);
  device_.complete(stream(1));
  EXPECT_EQ(query(second), DriverCode::ok);
}

TEST_F(SimOrdering, ARecordDoesNotMoveAWaitThatIsQueued) {
  const EventHandle mark = recorded(stream(1));
  EXPECT_TRUE(device_.wait_on_stream(stream(2), mark));
  device_.hold(stream(1));
  EXPECT_TRUE(device_.record(mark, stream(1)));
  EXPECT_EQ(query(recorded(stream(2))), DriverCode::ok) << "it waits for the first record";
  EXPECT_EQ(query(mark), DriverCode::not_ready);
}

TEST_F(SimOrdering, TheProgramsOwnWaitsAreNotLogged) {
  device_.hold(stream(1));
  const EventHandle mark = recorded(stream(1));
  device_.take_calls();
  device_.finish(stream(1));
  EXPECT_TRUE(device_.take_calls().empty());
  EXPECT_EQ(query(mark), DriverCode::ok);
}

// ---- Virtual time ----

TEST_F(SimOrdering, WorkTakesItsTime) {
  device_.work(stream(1), 100);
  const EventHandle mark = recorded(stream(1));
  device_.advance(99);
  EXPECT_EQ(query(mark), DriverCode::not_ready);
  EXPECT_FALSE(device_.idle());
  device_.advance(1);
  EXPECT_EQ(query(mark), DriverCode::ok);
  EXPECT_TRUE(device_.idle());
}

TEST_F(SimOrdering, StreamsRunSideBySideAndAStreamInOrder) {
  device_.work(stream(1), 100);
  device_.work(stream(1), 50);
  device_.work(stream(2), 120);
  const EventHandle one = recorded(stream(1));
  const EventHandle two = recorded(stream(2));
  device_.advance(120);
  EXPECT_EQ(query(one), DriverCode::not_ready);
  EXPECT_EQ(query(two), DriverCode::ok);
  device_.advance(30);
  EXPECT_EQ(query(one), DriverCode::ok);
}

TEST_F(SimOrdering, WorkAfterAWaitStartsWhenTheEventIsDone) {
  device_.work(stream(1), 100);
  const EventHandle first = recorded(stream(1));
  EXPECT_TRUE(device_.wait_on_stream(stream(2), first));
  device_.work(stream(2), 10);
  const EventHandle second = recorded(stream(2));
  device_.advance(109);
  EXPECT_EQ(query(second), DriverCode::not_ready);
  device_.advance(1);
  EXPECT_EQ(query(second), DriverCode::ok);
}

TEST_F(SimOrdering, AHostWaitTakesTheClockToTheEnd) {
  device_.work(stream(1), 1000);
  const EventHandle first = recorded(stream(1));
  device_.work(stream(1), 500);
  EXPECT_TRUE(device_.wait_on_host(first));
  EXPECT_EQ(device_.clock_ns(), 1000u);
  EXPECT_TRUE(device_.synchronize_stream(stream(1)));
  EXPECT_EQ(device_.clock_ns(), 1500u);
  device_.work(stream(2), 70);
  EXPECT_TRUE(device_.synchronize_device());
  EXPECT_EQ(device_.clock_ns(), 1570u);
}

TEST_F(SimOrdering, CallsTakeTheirTimeToo) {
  Device device({.profile = "a100"});
  device.work(stream(1), 100'000);
  const EventHandle mark = device.create_event().value;
  ASSERT_TRUE(device.record(mark, stream(1)));
  int queries = 0;
  while (!device.query(mark)) ++queries;
  EXPECT_GT(queries, 10);
  EXPECT_GE(device.clock_ns(), 100'000u);
}

TEST_F(SimOrdering, HeldWorkStartsWhenItIsLetGo) {
  device_.hold(stream(1));
  device_.work(stream(1), 100);
  const EventHandle mark = recorded(stream(1));
  device_.advance(1000);
  device_.unhold(stream(1));
  device_.advance(99);
  EXPECT_EQ(query(mark), DriverCode::not_ready);
  device_.advance(1);
  EXPECT_EQ(query(mark), DriverCode::ok);
}

TEST_F(SimOrdering, EffectsComeInTheOrderOfTime) {
  std::string seen;
  device_.work(stream(1), 300, {}, {}, [&] { seen += 'c'; });
  device_.work(stream(2), 100, {}, {}, [&] { seen += 'a'; });
  device_.work(stream(2), 100, {}, {}, [&] { seen += 'b'; });
  EXPECT_EQ(seen, "");
  EXPECT_TRUE(device_.synchronize_device());
  EXPECT_EQ(seen, "abc");
}

TEST_F(SimOrdering, LongChainsAcrossStreamsFinish) {
  device_.hold(stream(0));
  EventHandle last = recorded(stream(0));
  for (std::uintptr_t i = 1; i < 300; ++i) {
    EXPECT_TRUE(device_.wait_on_stream(stream(i % 3), last));
    device_.work(stream(i % 3), 10);
    last = recorded(stream(i % 3));
  }
  EXPECT_EQ(query(last), DriverCode::not_ready);
  EXPECT_TRUE(device_.wait_on_host(last));
  EXPECT_EQ(query(last), DriverCode::ok);
}

// ---- Handles ----

TEST_F(SimOrdering, AnyHandleIsAStream) {
  EXPECT_NE(identity(stream(7)), identity(stream(8)));
  EXPECT_EQ(identity(stream(7)), identity(stream(7)));
  EXPECT_EQ(identity(nullptr), 1u) << "the default stream came first";
}

TEST_F(SimOrdering, AHandleComesAgainForAnotherStream) {
  void* const handle = device_.create_stream();
  const std::uint64_t first = identity(handle);
  EXPECT_TRUE(device_.destroy_stream(handle));
  EXPECT_EQ(device_.create_stream(), handle);
  EXPECT_NE(identity(handle), first);
  EXPECT_NE(device_.create_stream(), handle);
}

TEST_F(SimOrdering, ADestroyedHandleIsInvalid) {
  void* const handle = device_.create_stream();
  const EventHandle mark = recorded(handle);
  EXPECT_TRUE(device_.destroy_stream(handle));
  EXPECT_EQ(device_.record(event(), handle).code, DriverCode::invalid);
  EXPECT_EQ(device_.wait_on_stream(handle, mark).code, DriverCode::invalid);
  EXPECT_EQ(device_.synchronize_stream(handle).code, DriverCode::invalid);
  EXPECT_EQ(device_.stream_identity(handle).status.code, DriverCode::invalid);
  EXPECT_EQ(device_.capture_open(handle).status.code, DriverCode::invalid);
  EXPECT_EQ(device_.destroy_stream(handle).code, DriverCode::invalid);
  EXPECT_EQ(query(mark), DriverCode::ok) << "its events live on";
  EXPECT_EQ(device_.destroy_stream(nullptr).code, DriverCode::invalid);
}

TEST_F(SimOrdering, AHandleOfTheCallersOwnIsANewStreamAfterItsEnd) {
  const std::uint64_t first = identity(stream(5));
  EXPECT_TRUE(device_.destroy_stream(stream(5)));
  EXPECT_NE(identity(stream(5)), first);
}

TEST_F(SimOrdering, WorkOfADestroyedStreamStillRuns) {
  void* const handle = device_.create_stream();
  bool ran = false;
  device_.work(handle, 100, {}, {}, [&] { ran = true; });
  const EventHandle mark = recorded(handle);
  EXPECT_TRUE(device_.destroy_stream(handle));
  const std::uint64_t next = identity(device_.create_stream());
  EXPECT_FALSE(ran);
  EXPECT_EQ(query(mark), DriverCode::not_ready);
  EXPECT_TRUE(device_.wait_on_host(mark));
  EXPECT_TRUE(ran);
  EXPECT_NE(next, 0u);
}

TEST_F(SimOrdering, DestroyedEventsAreInvalid) {
  const EventHandle mark = recorded(nullptr);
  EXPECT_TRUE(device_.destroy_event(mark));
  EXPECT_EQ(query(mark), DriverCode::invalid);
  EXPECT_EQ(device_.record(mark, nullptr).code, DriverCode::invalid);
  EXPECT_EQ(device_.wait_on_host(mark).code, DriverCode::invalid);
  EXPECT_EQ(device_.wait_on_stream(nullptr, mark).code, DriverCode::invalid);
  EXPECT_EQ(device_.destroy_event(mark).code, DriverCode::invalid);
}

// ---- Captures ----

TEST_F(SimOrdering, ACaptureIsOpenOnTheStreamsThatTakePart) {
  EXPECT_TRUE(device_.begin_capture(stream(1)));
  EXPECT_TRUE(device_.join_capture(stream(2)));
  EXPECT_TRUE(device_.capture_open(stream(1)).value);
  EXPECT_TRUE(device_.capture_open(stream(2)).value);
  EXPECT_FALSE(device_.capture_open(stream(3)).value);
  EXPECT_TRUE(device_.leave_capture(stream(2)));
  EXPECT_FALSE(device_.capture_open(stream(2)).value);
  EXPECT_TRUE(device_.join_capture(stream(2)));
  EXPECT_TRUE(device_.end_capture(stream(1)));
  EXPECT_FALSE(device_.capture_open(stream(1)).value);
  EXPECT_FALSE(device_.capture_open(stream(2)).value);
}

TEST_F(SimOrdering, CapturesAreBegunAndEndedByTheirStream) {
  EXPECT_EQ(device_.end_capture(stream(1)).code, DriverCode::invalid);
  EXPECT_EQ(device_.join_capture(stream(1)).code, DriverCode::invalid);
  EXPECT_TRUE(device_.begin_capture(stream(1)));
  EXPECT_EQ(device_.begin_capture(stream(1)).code, DriverCode::invalid);
  EXPECT_TRUE(device_.join_capture(stream(2)));
  EXPECT_EQ(device_.begin_capture(stream(2)).code, DriverCode::invalid);
  EXPECT_EQ(device_.end_capture(stream(2)).code, DriverCode::invalid);
  EXPECT_EQ(device_.leave_capture(stream(1)).code, DriverCode::invalid);
  EXPECT_EQ(device_.leave_capture(stream(3)).code, DriverCode::invalid);
  EXPECT_EQ(device_.destroy_stream(stream(2)).code, DriverCode::invalid);
}

TEST_F(SimOrdering, ACapturingStreamCannotBeWaitedFor) {
  const EventHandle outside = recorded(stream(2));
  EXPECT_TRUE(device_.begin_capture(stream(1)));
  const EventHandle inside = recorded(stream(1));
  EXPECT_EQ(query(inside), DriverCode::invalid);
  EXPECT_EQ(device_.wait_on_host(inside).code, DriverCode::invalid);
  EXPECT_EQ(device_.synchronize_stream(stream(1)).code, DriverCode::invalid);
  EXPECT_EQ(device_.synchronize_device().code, DriverCode::invalid);
  EXPECT_EQ(device_.wait_on_stream(stream(1), outside).code, DriverCode::invalid) << "a capture stands alone";
  EXPECT_EQ(query(outside), DriverCode::ok) << "other streams go on";
  EXPECT_TRUE(device_.synchronize_stream(stream(2)));
  EXPECT_TRUE(device_.end_capture(stream(1)));
  EXPECT_EQ(query(inside), DriverCode::invalid) << "it never ran";
  EXPECT_TRUE(device_.record(inside, stream(1)));
  EXPECT_EQ(query(inside), DriverCode::ok);
  EXPECT_TRUE(device_.synchronize_device());
}

TEST_F(SimOrdering, WaitingForAnEventOfACaptureJoinsIt) {
  EXPECT_TRUE(device_.begin_capture(stream(1)));
  const EventHandle inside = recorded(stream(1));
  EXPECT_TRUE(device_.wait_on_stream(stream(2), inside));
  EXPECT_TRUE(device_.capture_open(stream(2)).value);
  EXPECT_TRUE(device_.end_capture(stream(1)));
  EXPECT_EQ(device_.wait_on_stream(stream(2), inside).code, DriverCode::invalid) << "the capture is over";
}

TEST_F(SimOrdering, WorkOnACapturingStreamDoesNotRun) {
  bool ran = false;
  EXPECT_TRUE(device_.begin_capture(stream(1)));
  EXPECT_EQ(device_.work(stream(1), 0, {}, {}, [&] { ran = true; }), 0u);
  EXPECT_TRUE(device_.end_capture(stream(1)));
  EXPECT_TRUE(device_.synchronize_device());
  EXPECT_FALSE(ran);
}

// ---- The log ----

TEST_F(SimOrdering, TheLogNamesTheStreamAndTheAnswer) {
  device_.hold(stream(3));
  const EventHandle mark = recorded(stream(3));
  device_.take_calls();
  EXPECT_EQ(query(mark), DriverCode::not_ready);
  EXPECT_TRUE(device_.wait_on_host(mark));
  EXPECT_EQ(query(mark), DriverCode::ok);
  EXPECT_TRUE(device_.record(mark, stream(4)));
  EXPECT_TRUE(device_.synchronize_stream(stream(5)));
  const std::vector<CallRecord> calls = device_.take_calls();
  ASSERT_EQ(calls.size(), 5u);
  const auto is = [&](std::size_t i, Call call, void* on, DriverCode result) {
    EXPECT_EQ(calls[i].call, call) << i;
    EXPECT_EQ(calls[i].stream, on) << i;
    EXPECT_EQ(calls[i].result, result) << i;
  };
  is(0, Call::query, stream(3), DriverCode::not_ready);
  is(1, Call::wait_on_host, stream(3), DriverCode::ok);
  is(2, Call::query, stream(3), DriverCode::ok);
  is(3, Call::record, stream(4), DriverCode::ok);
  is(4, Call::synchronize_stream, stream(5), DriverCode::ok);
}

}  // namespace
}  // namespace quarry::sim
