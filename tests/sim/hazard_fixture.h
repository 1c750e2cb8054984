// What the tests of the hazard checker share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <quarry/allocator/sim/device.h>

namespace quarry::sim {

using namespace literals;

// How work runs: at once, in its time, or not before someone waits for it.
enum class Pace { at_once, timed, held };

inline std::string pace_name(const ::testing::TestParamInfo<Pace>& info) {
  constexpr const char* kNames[] = {"at_once", "timed", "held"};
  return kNames[static_cast<std::size_t>(info.param)];
}

class HazardChecker : public ::testing::TestWithParam<Pace> {
 protected:
  HazardChecker() {
    for (void* stream : {one_, two_, three_}) {
      if (GetParam() == Pace::held) device_.hold(stream);
    }
  }

  std::uint64_t identity(void* stream) { return device_.stream_identity(stream).value; }
  std::uint64_t reads(void* stream, ByteRange range) { return device_.work(stream, duration(), {range}, {}); }
  std::uint64_t writes(void* stream, ByteRange range) { return device_.work(stream, duration(), {}, {range}); }
  std::uint64_t duration() const { return GetParam() == Pace::timed ? 1000 : 0; }
  void let_it_run() {
    device_.advance(1'000'000);
    for (void* stream : {one_, two_, three_}) device_.complete(stream);
  }

  EventHandle recorded(void* stream) {
    const EventHandle mark = device_.create_event().value;
    EXPECT_TRUE(device_.record(mark, stream));
    return mark;
  }
  // From what is queued on `from` to what is queued on `to` next.
  void edge(void* from, void* to) { EXPECT_TRUE(device_.wait_on_stream(to, recorded(from))); }

  std::size_t found() { return device_.take_hazards().size(); }

  Device device_{DeviceOptions{.capacity = 1_GiB, .profile = "free"}};
  void* one_ = device_.create_stream();
  void* two_ = device_.create_stream();
  void* three_ = device_.create_stream();
  Address at_ = device_.allocate_segment(2_MiB).value;
  ByteRange bytes_{at_, 4096_B};
};

inline const auto kPaces = ::testing::Values(Pace::at_once, Pace::timed, Pace::held);

}  // namespace quarry::sim
