// A fault at every driver call: each must end in a clean error or in success, with every number still adding up,
// nothing leaked, and the next request served.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/operation_subject.h"
#include "support/pytorch.h"

namespace quarry::oracle {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kNever = 1ull << 60;  // so many calls away that the fault never strikes

struct Fault {
  sim::Call call;
  std::uint64_t nth;
  DriverCode code;
  bool repeat;
};

std::string to_text(const Fault& fault) {
  return std::string(sim::kCallNames[static_cast<std::size_t>(fault.call)]) + " number " + std::to_string(fault.nth) +
         (fault.repeat ? " and all later" : "") +
         (fault.code == DriverCode::other ? " fail: other" : " fail: out of memory");
}

// Small and large classes, a split, a merge, a give-back.
Program growing() {
  return {
      {.capacity = 400 * kMiB},
      {Allocate{0, 700}, Allocate{1, 3 * kMiB}, Allocate{2, 30 * kMiB}, Allocate{3, kMiB}, Allocate{4, kMiB}, Free{1},
       Free{2}, EmptyCache{}, Allocate{5, 31 * kMiB}, Allocate{6, 9 * kMiB}, Free{0}, Free{3}, EmptyCache{}}};
}

// The device is full of cached segments: the last rung gives them back.
Program tight() {
  return {
      {.capacity = 64 * kMiB},
      {Allocate{0, 20 * kMiB}, Allocate{1, 20 * kMiB}, Allocate{2, 20 * kMiB}, Free{0}, Free{1}, Allocate{3, 40 * kMiB},
       Free{2}, Free{3}, Allocate{4, 60 * kMiB}, Allocate{5, 8 * kMiB}, Free{4}, Allocate{6, 8 * kMiB}}};
}

// Two streams and a split limit: oversize blocks go first.
Program oversize() {
  return {{.settings = {.max_split_mib = 40}, .capacity = 200 * kMiB, .streams = 2},
          {Allocate{0, 50 * kMiB}, Allocate{1, 60 * kMiB}, Allocate{2, 50 * kMiB, 1}, Free{0}, Free{1}, Free{2},
           Allocate{3, 100 * kMiB}, Allocate{4, 90 * kMiB}, Free{3}, Allocate{5, 30 * kMiB}, EmptyCache{}}};
}

// A bound that refuses before the driver does.
Program limited() {
  return {{.capacity = 100 * kMiB},
          {SetFraction{0.5}, Allocate{0, 30 * kMiB}, Free{0}, Allocate{1, 40 * kMiB}, Allocate{2, 20 * kMiB}, Free{1},
           SetFraction{1.0}, Allocate{3, 90 * kMiB}}};
}

std::uint64_t calls_made(const Program& program, sim::Call call) {
  Subject subject(program.start);
  for (const Operation& operation : program.operations) (void)subject.apply(operation);
  return subject.device().call_counts()[static_cast<std::size_t>(call)];
}

void expect_clean(const Program& program, const Fault& fault) {
  SCOPED_TRACE(to_text(fault));
  Subject subject(program.start);
  subject.device().fail(fault.call, fault.nth, fault.code, fault.repeat);
  for (const Operation& operation : program.operations) {
    const Outcome outcome = subject.apply(operation);
    const bool served = outcome.kind == Kind::done || outcome.kind == Kind::placed || outcome.kind == Kind::skipped;
    if (!served) {
      EXPECT_TRUE(subject.error().code == ErrorCode::out_of_memory || subject.error().code == ErrorCode::driver);
      EXPECT_FALSE(subject.error().message.empty());
    }
    const std::string broken = subject.broken();
    ASSERT_EQ(broken, "") << "after " << to_text(operation);
  }
  subject.device().fail(fault.call, kNever);
  EXPECT_EQ(subject.apply(SetFraction{1.0}).kind, Kind::done);
  EXPECT_EQ(subject.broken_end(), "");
  EXPECT_EQ(subject.apply(Allocate{1000, 2 * kMiB}).kind, Kind::placed);
  EXPECT_EQ(subject.broken_end(), "");
}

void strike_everywhere(const Program& program) {
  for (const sim::Call call : {sim::Call::allocate_segment, sim::Call::release_segment, sim::Call::info}) {
    const std::uint64_t calls = calls_made(program, call);
    ASSERT_GT(calls, 0u);
    for (std::uint64_t nth = 1; nth <= calls; ++nth) {
      for (const DriverCode code : {DriverCode::out_of_memory, DriverCode::other}) {
        for (const bool repeat : {false, true}) expect_clean(program, {call, nth, code, repeat});
      }
    }
  }
}

TEST(Faults, WhileGrowing) { strike_everywhere(growing()); }
TEST(Faults, WhileTheDeviceIsFull) { strike_everywhere(tight()); }
TEST(Faults, WhileOversizeBlocksGo) { strike_everywhere(oversize()); }
TEST(Faults, UnderALimit) { strike_everywhere(limited()); }

// An error that is not out of memory ends the request at once: no ladder, nothing given back, nothing counted.
TEST(Faults, ADriverErrorIsNotOutOfMemory) {
  Subject subject({.capacity = 100 * kMiB});
  ASSERT_EQ(subject.apply(Allocate{0, 20 * kMiB}).kind, Kind::placed);
  ASSERT_EQ(subject.apply(Free{0}).kind, Kind::done);
  const Counters before = subject.allocator().counters();
  subject.apply(FailSegment{1, true});
  const Outcome outcome = subject.apply(Allocate{1, 30 * kMiB});
  EXPECT_EQ(outcome.kind, Kind::driver_error);
  EXPECT_EQ(subject.error().code, ErrorCode::driver);
  EXPECT_EQ(outcome.calls, (std::vector<SegmentCall>{{true, 30 * kMiB, false}}));
  EXPECT_EQ(subject.allocator().counters(), before);
}

// What the driver does not take back stays cached and serves again.
TEST(Faults, ARefusedGiveBackKeepsTheSegment) {
  Subject subject({.capacity = 100 * kMiB});
  ASSERT_EQ(subject.apply(Allocate{0, 20 * kMiB}).kind, Kind::placed);
  ASSERT_EQ(subject.apply(Free{0}).kind, Kind::done);
  subject.device().fail(sim::Call::release_segment, 1, DriverCode::other);
  EXPECT_EQ(subject.apply(EmptyCache{}).released, 0u);
  const Outcome again = subject.apply(Allocate{1, 20 * kMiB});
  EXPECT_EQ(again, (Outcome{.kind = Kind::placed, .size = 20 * kMiB}));
  EXPECT_EQ(subject.broken_end(), "");
}

// A bound needs the size of the device: without an answer nothing may change.
TEST(Faults, AFractionOfAnUnknownDeviceIsRefused) {
  Subject subject({.capacity = 100 * kMiB});
  subject.device().fail(sim::Call::info, 1, DriverCode::other);
  EXPECT_NE(subject.apply(SetFraction{0.5}).kind, Kind::done);
  EXPECT_EQ(subject.error().code, ErrorCode::driver);
  EXPECT_EQ(subject.allocator().memory_fraction(), 1.0);
  EXPECT_EQ(subject.apply(Allocate{0, 90 * kMiB}).kind, Kind::placed);
}

// The report of an out-of-memory never fails harder than what it reports.
TEST(Faults, OutOfMemoryIsReportedWithoutDeviceFigures) {
  Subject subject({.capacity = 30 * kMiB});
  subject.device().fail(sim::Call::info, 1, DriverCode::other, true);
  EXPECT_EQ(subject.apply(Allocate{0, 40 * kMiB}).kind, Kind::out_of_memory);
  EXPECT_NE(subject.error().message.find("41943040"), std::string::npos) << subject.error().message;
}

// Opening asks the driver; its refusal is the caller's error.
TEST(Faults, OpeningOnADeadDriverFails) {
  const auto device = std::make_shared<sim::Device>();
  device->fail(sim::Call::info, 1, DriverCode::gone);
  const Result<Allocator> opened = Allocator::open(device, pytorch_options());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::gone);
}

// A driver that is shutting down has taken everything back: giving back to it counts as done.
TEST(Faults, ADriverThatIsGoneCountsAsSuccess) {
  const auto device = std::make_shared<sim::Device>();
  Allocator allocator = *Allocator::open(device, pytorch_options());
  { const Allocation block = *allocator.allocate(5 * kMiB); }
  device->fail(sim::Call::release_segment, 1, DriverCode::gone, true);
  EXPECT_EQ(allocator.empty_cache(), Bytes{20 * kMiB});
  EXPECT_EQ(allocator.ledger().reserved, Bytes{});
  EXPECT_EQ(allocator.validate(), "");
}

}  // namespace
}  // namespace quarry::oracle
