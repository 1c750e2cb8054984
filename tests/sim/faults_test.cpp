// Faults of the simulated device: the chosen call fails, and has no effect.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include <quarry/allocator/sim/device.h>

namespace quarry::sim {
namespace {

using namespace literals;

Address allocate(Device& device, Bytes size) {
  const DriverResult<Address> got = device.allocate_segment(size);
  EXPECT_EQ(got.status.code, DriverCode::ok) << size.count << " bytes";
  return got.value;
}

DriverCode refusal(Device& device, Bytes size) { return device.allocate_segment(size).status.code; }

TEST(Fault, StrikesTheChosenCallOnce) {
  Device device({.capacity = 1_GiB});
  device.fail(Call::allocate_segment, 2);
  const Address first = allocate(device, 2_MiB);
  EXPECT_EQ(refusal(device, 2_MiB), DriverCode::out_of_memory);
  EXPECT_EQ(device.in_use(), 2_MiB);
  EXPECT_EQ(allocate(device, 2_MiB), first + 2_MiB);
}

TEST(Fault, RepeatsUntilRemoved) {
  Device device({.capacity = 1_GiB});
  device.fail(Call::allocate_segment, 2, DriverCode::other, true);
  allocate(device, 2_MiB);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(device, 2_MiB), DriverCode::other);
  device.fail(Call::allocate_segment, 0);
  allocate(device, 2_MiB);
}

// Calls that succeed whenever no fault strikes, in any order.
class EveryCall {
 public:
  explicit EveryCall(Device& device) : device_(device) {
    EXPECT_TRUE(device.record(mark_, nullptr));
    EXPECT_TRUE(device.register_host({4096}, 4096_B));
  }

  DriverCode make(Call which) {
    const std::optional<DriverCode> memory = make_memory(which);
    if (memory) return *memory;
    const std::optional<DriverCode> mapping = make_mapping(which);
    return mapping ? *mapping : make_ordering(which);
  }

 private:
  std::optional<DriverCode> make_memory(Call which) {
    switch (which) {
      case Call::info:
        return device_.info().status.code;
      case Call::allocate_segment:
        return refusal(device_, 2_MiB);
      case Call::release_segment:
        return device_.release_segment(segment_, 2_MiB).code;
      case Call::allocate_host:
        return device_.allocate_host(4096_B).status.code;
      case Call::release_host:
        return device_.release_host(host_, 4096_B).code;
      case Call::register_host:
        return device_.register_host({1 << 20}, 4096_B).code;
      case Call::unregister_host:
        return device_.unregister_host({4096}).code;
      default:
        return std::nullopt;
    }
  }
  std::optional<DriverCode> make_mapping(Call which) {
    switch (which) {
      case Call::reserve:
        return device_.reserve(2_MiB).status.code;
      case Call::unreserve:
        return device_.unreserve(spare_range_, 2_MiB).code;
      case Call::create_page:
        return device_.create_page(2_MiB, {}).status.code;
      case Call::destroy_page:
        return device_.destroy_page(spare_page_).code;
      case Call::map:
        return device_.map(range_, 2_MiB, &page_, 1).code;
      case Call::set_access:
        return device_.map(range_ + 2_MiB, 2_MiB, &page_, 1).code;
      case Call::unmap:
        return device_.unmap(range_, 2_MiB).code;
      default:
        return std::nullopt;
    }
  }
  DriverCode make_ordering(Call which) {
    switch (which) {
      case Call::stream_identity:
        return device_.stream_identity(nullptr).status.code;
      case Call::create_event:
        return device_.create_event().status.code;
      case Call::destroy_event:
        return device_.destroy_event(spare_mark_).code;
      case Call::record:
        return device_.record(mark_, nullptr).code;
      case Call::query:
        return device_.query(mark_).code;
      case Call::wait_on_host:
        return device_.wait_on_host(mark_).code;
      case Call::wait_on_stream:
        return device_.wait_on_stream(nullptr, mark_).code;
      case Call::synchronize_stream:
        return device_.synchronize_stream(nullptr).code;
      case Call::synchronize_device:
        return device_.synchronize_device().code;
      case Call::capture_open:
        return device_.capture_open(nullptr).status.code;
      default:
        throw std::logic_error("a call without a row in this test");
    }
  }

  Device& device_;
  Address segment_ = allocate(device_, 2_MiB);
  Address host_ = device_.allocate_host(4096_B).value;
  Address range_ = device_.reserve(4_MiB).value;
  Address spare_range_ = device_.reserve(2_MiB).value;
  PageHandle page_ = device_.create_page(2_MiB, {}).value;
  PageHandle spare_page_ = device_.create_page(2_MiB, {}).value;
  EventHandle mark_ = device_.create_event().value;
  EventHandle spare_mark_ = device_.create_event().value;
};

TEST(Fault, EveryKindOfCallCanFail) {
  Device device({.capacity = 1_GiB});
  EveryCall every(device);
  for (std::size_t i = 0; i < kCallNames.size(); ++i) {
    const auto which = static_cast<Call>(i);
    device.fail(which, 1, DriverCode::gone);
    const Holdings before = device.holdings();
    EXPECT_EQ(every.make(which), DriverCode::gone) << kCallNames[i];
    EXPECT_EQ(device.holdings(), before) << kCallNames[i];
    EXPECT_EQ(every.make(which), DriverCode::ok) << kCallNames[i] << " after the fault";
  }
}

TEST(Fault, CanBeCountedOverAllCalls) {
  Device device({.capacity = 1_GiB});
  device.fail_any(3, DriverCode::gone);
  EXPECT_TRUE(device.info());
  const Address at = allocate(device, 2_MiB);
  EXPECT_EQ(device.create_event().status.code, DriverCode::gone);
  EXPECT_TRUE(device.release_segment(at, 2_MiB));
  device.fail_any(2, DriverCode::other, true);
  EXPECT_TRUE(device.info());
  EXPECT_EQ(device.info().status.code, DriverCode::other);
  EXPECT_EQ(device.reserve(2_MiB).status.code, DriverCode::other);
  device.fail_any(0);
  EXPECT_TRUE(device.info());
}

}  // namespace
}  // namespace quarry::sim
