// What the simulated device promises beyond the contract: layout, accounting, costs, log.
#include <quarry/allocator/sim/device.h>

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <stdexcept>

namespace quarry::sim {
namespace {

using namespace literals;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

Address allocate(Device& device, Bytes size) {
  const DriverResult<Address> got = device.allocate_segment(size);
  EXPECT_EQ(got.status.code, DriverCode::ok) << size.count << " bytes";
  return got.value;
}

DriverCode refusal(Device& device, Bytes size) { return device.allocate_segment(size).status.code; }

MemoryInfo info(Device& device) {
  const DriverResult<MemoryInfo> got = device.info();
  EXPECT_TRUE(got);
  return got.value;
}

// Gives addresses in the order they were put in; then none.
class Script final : public AddressScript {
 public:
  explicit Script(std::deque<std::uint64_t> addresses) : addresses_(std::move(addresses)) {}

  Address next(Bytes size) override {
    sizes.push_back(size);
    if (addresses_.empty()) return {};
    const Address at{addresses_.front()};
    addresses_.pop_front();
    return at;
  }

  std::vector<Bytes> sizes;

 private:
  std::deque<std::uint64_t> addresses_;
};

TEST(Device, LaysSegmentsOutFirstFit) {
  Device device({.base = {0x10000000}});
  EXPECT_EQ(allocate(device, 20_MiB), Address{0x10000000});
  EXPECT_EQ(allocate(device, 2_MiB), Address{0x10000000} + 20_MiB);
  EXPECT_EQ(allocate(device, 20_MiB), Address{0x10000000} + 22_MiB);
  EXPECT_TRUE(device.release_segment({0x10000000}, 20_MiB));
  EXPECT_EQ(allocate(device, 30_MiB), Address{0x10000000} + 42_MiB);
  EXPECT_EQ(allocate(device, 2_MiB), Address{0x10000000});
}

TEST(Device, TheSameCallsGiveTheSameAddresses) {
  Device one({.capacity = 1_GiB});
  Device two({.capacity = 1_GiB});
  for (const Bytes size : {2_MiB, 20_MiB, 64_MiB}) EXPECT_EQ(allocate(one, size), allocate(two, size));
}

TEST(Device, SegmentsOccupyMultiplesOfTheGranularity) {
  Device device({.capacity = 24_MiB});
  const Address first = allocate(device, 11_MiB);
  EXPECT_EQ(device.in_use(), 12_MiB);
  EXPECT_EQ(allocate(device, 1_B), first + 12_MiB);
  EXPECT_EQ(info(device).free, 10_MiB);
  EXPECT_EQ(refusal(device, 11_MiB), DriverCode::out_of_memory);
  EXPECT_TRUE(device.release_segment(first, 11_MiB));
  EXPECT_EQ(device.in_use(), 2_MiB);
  EXPECT_EQ(device.segments(), 1u);
}

TEST(Device, TheWholeCapacityCanBeUsed) {
  Device device({.capacity = 64_MiB});
  const Address at = allocate(device, 64_MiB);
  EXPECT_EQ(info(device).free, 0_B);
  EXPECT_EQ(refusal(device, 1_B), DriverCode::out_of_memory);
  EXPECT_TRUE(device.release_segment(at, 64_MiB));
  EXPECT_EQ(info(device).free, 64_MiB);
  allocate(device, 64_MiB);
}

TEST(Device, OthersUseCountsAgainstTheCapacity) {
  Device device({.capacity = 64_MiB});
  device.set_outside(40_MiB);
  EXPECT_EQ(info(device).free, 24_MiB);
  EXPECT_EQ(info(device).total, 64_MiB);
  EXPECT_EQ(refusal(device, 26_MiB), DriverCode::out_of_memory);
  allocate(device, 24_MiB);
  device.set_outside(0_B);
  EXPECT_EQ(info(device).free, 40_MiB);
}

TEST(Device, FreeNeverWraps) {
  Device device({.capacity = 64_MiB});
  const Address at = allocate(device, 40_MiB);
  device.set_outside(40_MiB);
  EXPECT_EQ(info(device).free, 0_B);
  device.set_outside(Bytes{kMost});
  EXPECT_EQ(info(device).free, 0_B);
  device.set_outside(0_B);
  device.set_capacity(16_MiB);
  EXPECT_EQ(info(device).free, 0_B);
  EXPECT_EQ(refusal(device, 2_MiB), DriverCode::out_of_memory);
  EXPECT_TRUE(device.release_segment(at, 40_MiB));
  EXPECT_EQ(info(device).free, 16_MiB);
  allocate(device, 16_MiB);
}

TEST(Device, UnlimitedCapacityTakesVeryLargeJobs) {
  Device device;
  EXPECT_EQ(info(device).total, kUnlimited);
  for (int i = 0; i < 1000; ++i) allocate(device, 1024_GiB);
  EXPECT_EQ(device.in_use(), 1024_GiB * 1000);
  EXPECT_EQ(refusal(device, Bytes{kMost}), DriverCode::out_of_memory);
  EXPECT_EQ(refusal(device, Bytes{kMost - (2_MiB).count}), DriverCode::out_of_memory);
  EXPECT_EQ(device.segments(), 1000u);
}

TEST(Device, ScriptedAddressesAreUsedAsGiven) {
  Device device({.capacity = 1_GiB});
  Script script({0x7f5a00000000, 0x100200});
  device.set_script(&script);
  EXPECT_EQ(allocate(device, 20_MiB), Address{0x7f5a00000000});
  EXPECT_EQ(allocate(device, 2_MiB), Address{0x100200});
  EXPECT_EQ(allocate(device, 2_MiB), Address{0x7f0000000000}) << "no wish: the device's own layout";
  EXPECT_EQ(script.sizes, (std::vector<Bytes>{20_MiB, 2_MiB, 2_MiB}));
  EXPECT_TRUE(device.release_segment({0x7f5a00000000}, 20_MiB));
  EXPECT_EQ(device.in_use(), 4_MiB);
}

TEST(Device, ScriptedAddressesMayTouchButNotMeet) {
  Device device;
  Script script({0x10000000, 0x10000000 + (11 << 20), 0x10000000 - (2 << 20), 0x10000000 + (5 << 20), 0x10000000});
  device.set_script(&script);
  allocate(device, 11_MiB);
  allocate(device, 2_MiB);
  allocate(device, 2_MiB);
  EXPECT_EQ(refusal(device, 2_MiB), DriverCode::invalid);
  EXPECT_EQ(refusal(device, 2_MiB), DriverCode::invalid);
  EXPECT_EQ(device.segments(), 3u);
  EXPECT_EQ(device.in_use(), 16_MiB);
}

TEST(Device, ScriptedAddressesOutsideTheAddressSpaceAreInvalid) {
  Device device;
  Script script({std::uint64_t{1} << 63, kMost - 511, (std::uint64_t{1} << 63) - (2 << 20)});
  device.set_script(&script);
  EXPECT_EQ(refusal(device, 2_MiB), DriverCode::invalid);
  EXPECT_EQ(refusal(device, 2_MiB), DriverCode::invalid);
  allocate(device, 2_MiB);
}

TEST(Device, LayoutKeepsClearOfScriptedSegments) {
  Device device({.base = {0x10000000}});
  Script script({0x10000000 + (3 << 20)});
  device.set_script(&script);
  const Address scripted = allocate(device, 2_MiB);
  device.set_script(nullptr);
  EXPECT_EQ(allocate(device, 2_MiB), Address{0x10000000});
  EXPECT_EQ(allocate(device, 2_MiB), Address{0x10000000} + 6_MiB);
  EXPECT_TRUE(device.release_segment(scripted, 2_MiB));
  EXPECT_EQ(allocate(device, 4_MiB), Address{0x10000000} + 2_MiB);
}

TEST(Device, ScriptIsNotAskedForWhatDoesNotFit) {
  Device device({.capacity = 16_MiB});
  Script script({0x10000000});
  device.set_script(&script);
  EXPECT_EQ(refusal(device, 32_MiB), DriverCode::out_of_memory);
  EXPECT_EQ(allocate(device, 16_MiB), Address{0x10000000});
}

TEST(CallLog, HoldsCallsInOrderUntilTaken) {
  Device device({.capacity = 4_MiB, .record_calls = true});
  const Address at = allocate(device, 2_MiB);
  EXPECT_EQ(refusal(device, 4_MiB), DriverCode::out_of_memory);
  EXPECT_TRUE(device.release_segment(at, 2_MiB));
  const std::vector<CallRecord> calls = device.take_calls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].call, Call::allocate_segment);
  EXPECT_EQ(calls[0].size, 2_MiB);
  EXPECT_EQ(calls[1].result, DriverCode::out_of_memory);
  EXPECT_EQ(calls[1].size, 4_MiB);
  EXPECT_EQ(calls[2].call, Call::release_segment);
  EXPECT_TRUE(device.take_calls().empty());
}

TEST(CallLog, CountsFailedCallsToo) {
  Device device({.capacity = 4_MiB});
  allocate(device, 2_MiB);
  EXPECT_EQ(refusal(device, 4_MiB), DriverCode::out_of_memory);
  info(device);
  const auto counts = device.call_counts();
  EXPECT_EQ(counts[static_cast<std::size_t>(Call::allocate_segment)], 2u);
  EXPECT_EQ(counts[static_cast<std::size_t>(Call::info)], 1u);
  EXPECT_EQ(counts[static_cast<std::size_t>(Call::release_segment)], 0u);
  EXPECT_TRUE(device.take_calls().empty()) << "no list was asked for";
}

TEST(Costs, ProfilesAreFoundByName) {
  ASSERT_NE(find_profile("a100"), nullptr);
  ASSERT_NE(find_profile("free"), nullptr);
  EXPECT_EQ(find_profile("a100")->name, "a100");
  EXPECT_EQ(find_profile("A100"), nullptr);
}

TEST(Costs, VirtualTimeIsTheSumOfTheCalls) {
  Device device({.capacity = 1_GiB, .profile = "a100"});
  const CallCost get = find_profile("a100")->cost[static_cast<std::size_t>(Call::allocate_segment)];
  const CallCost give = find_profile("a100")->cost[static_cast<std::size_t>(Call::release_segment)];
  EXPECT_EQ(device.clock_ns(), 0u);
  const Address at = allocate(device, 64_MiB);
  EXPECT_EQ(device.clock_ns(), static_cast<std::uint64_t>(get.fixed_ns + 64 * get.per_mib_ns));
  EXPECT_TRUE(device.release_segment(at, 64_MiB));
  EXPECT_EQ(device.clock_ns(), static_cast<std::uint64_t>(get.fixed_ns + 64 * get.per_mib_ns + give.fixed_ns));
}

TEST(Costs, ARefusedCallCostsItsFixedPart) {
  Device device({.capacity = 2_MiB});
  EXPECT_EQ(refusal(device, 1_GiB), DriverCode::out_of_memory);
  const CallCost get = find_profile("a100")->cost[static_cast<std::size_t>(Call::allocate_segment)];
  EXPECT_EQ(device.clock_ns(), static_cast<std::uint64_t>(get.fixed_ns));
}

TEST(Costs, TheFreeProfileTakesNoTime) {
  Device device({.capacity = 1_GiB, .profile = "free"});
  EXPECT_TRUE(device.release_segment(allocate(device, 512_MiB), 512_MiB));
  info(device);
  EXPECT_EQ(device.clock_ns(), 0u);
}

TEST(Device, HostMemoryIsNotChargedToTheDevice) {
  Device device({.capacity = 16_MiB});
  const DriverResult<Address> host = device.allocate_host(1_GiB);
  ASSERT_TRUE(host);
  EXPECT_EQ(info(device).free, 16_MiB);
  EXPECT_EQ(device.register_host(host.value + 4096_B, 4096_B).code, DriverCode::invalid) << "it is pinned already";
  EXPECT_TRUE(device.release_host(host.value, 1_GiB));
}

class ThrowingChecks : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = set_check_handler([](const CheckFailure& failure) { throw std::runtime_error(failure.message); });
  }
  void TearDown() override { set_check_handler(before_); }

 private:
  CheckHandler before_ = nullptr;
};

TEST_F(ThrowingChecks, WrongOptionsAreTheCallersBug) {
  EXPECT_THROW(Device({.profile = "h200"}), std::runtime_error);
  EXPECT_THROW(Device({.granularity = 0_B}), std::runtime_error);
  EXPECT_THROW(Device({.granularity = 100_B}), std::runtime_error);
  EXPECT_THROW(Device({.page_granularity = 0_B}), std::runtime_error);
  EXPECT_THROW(Device({.page_granularity = 2_MiB + 512_B}), std::runtime_error);
  EXPECT_THROW(Device({.granularity = 512_B, .backing = Backing::memfd}), std::runtime_error);
  EXPECT_THROW(Device({.base = {std::uint64_t{1} << 63}}), std::runtime_error);
}

}  // namespace
}  // namespace quarry::sim
