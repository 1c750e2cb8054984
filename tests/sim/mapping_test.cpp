// What the simulated device's Mapping promises beyond the contract: accounting, the log of calls, faults, scripts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <quarry/allocator/sim/device.h>

namespace quarry::sim {
namespace {

using namespace literals;

Address reserve(Device& device, Bytes size) {
  const DriverResult<Address> got = device.reserve(size);
  EXPECT_EQ(got.status.code, DriverCode::ok);
  return got.value;
}

std::vector<PageHandle> create(Device& device, Bytes size, std::size_t count) {
  std::vector<PageHandle> pages;
  for (std::size_t i = 0; i < count; ++i) {
    const DriverResult<PageHandle> page = device.create_page(size, {});
    EXPECT_EQ(page.status.code, DriverCode::ok);
    pages.push_back(page.value);
  }
  return pages;
}

DriverCode map(Device& device, Address at, Bytes page_size, const std::vector<PageHandle>& pages) {
  return device.map(at, page_size, pages.data(), pages.size()).code;
}

// One line a call: name, MiB, offset in its reservation in MiB where there is one, and what went wrong.
std::vector<std::string> log_of(Device& device) {
  std::vector<std::string> lines;
  for (const CallRecord& call : device.take_calls()) {
    std::string line(kCallNames[static_cast<std::size_t>(call.call)]);
    line += ' ' + std::to_string(call.size.count >> 20);
    const bool placed = call.call == Call::map || call.call == Call::set_access || call.call == Call::unmap;
    if (placed) line += " at " + std::to_string(call.offset.count >> 20);
    if (call.result != DriverCode::ok) line += " fails";
    lines.push_back(line);
  }
  return lines;
}

TEST(SimMapping, CanBeSwitchedOff) {
  Device with;
  EXPECT_NE(with.mapping(), nullptr);
  EXPECT_EQ(with.capabilities().page_size, 2_MiB);
  Device without({.mapping = false});
  EXPECT_EQ(without.mapping(), nullptr);
  EXPECT_EQ(without.capabilities().page_size, 0_B);
}

TEST(SimMapping, PagesAreChargedFromCreationToTheLastUnmap) {
  Device device({.capacity = 64_MiB});
  const Address at = reserve(device, 1_GiB);
  EXPECT_EQ(device.in_use(), 0_B) << "addresses cost nothing";
  const auto pages = create(device, 20_MiB, 3);
  EXPECT_EQ(device.in_use(), 60_MiB);
  EXPECT_EQ(device.info().value.free, 4_MiB);
  EXPECT_EQ(device.create_page(20_MiB, {}).status.code, DriverCode::out_of_memory);
  EXPECT_EQ(device.allocate_segment(6_MiB).status.code, DriverCode::out_of_memory) << "segments share the capacity";
  EXPECT_EQ(map(device, at, 20_MiB, {pages[0]}), DriverCode::ok);
  EXPECT_EQ(map(device, at + 20_MiB, 20_MiB, {pages[0]}), DriverCode::ok);
  EXPECT_TRUE(device.destroy_page(pages[0]));
  EXPECT_TRUE(device.unmap(at, 20_MiB));
  EXPECT_EQ(device.in_use(), 60_MiB) << "an alias is left";
  EXPECT_TRUE(device.unmap(at + 20_MiB, 20_MiB));
  EXPECT_EQ(device.in_use(), 40_MiB);
  EXPECT_TRUE(device.destroy_page(pages[1]));
  EXPECT_EQ(device.in_use(), 20_MiB);
}

TEST(SimMapping, WhatIsHeldIsCounted) {
  Device device;
  const Address at = reserve(device, 8_MiB);
  const auto pages = create(device, 2_MiB, 2);
  EXPECT_EQ(map(device, at, 2_MiB, {pages[0], pages[1], pages[0]}), DriverCode::ok);
  EXPECT_EQ(device.holdings(), (Holdings{.reservations = 1, .pages = 2, .mappings = 3}));
  EXPECT_TRUE(device.destroy_page(pages[0]));
  EXPECT_TRUE(device.destroy_page(pages[1]));
  EXPECT_EQ(device.holdings(), (Holdings{.reservations = 1, .pages = 2, .mappings = 3}));
  EXPECT_TRUE(device.unmap(at, 6_MiB));
  EXPECT_TRUE(device.unreserve(at, 8_MiB));
  EXPECT_EQ(device.holdings(), Holdings{});
}

TEST(SimMapping, APageThatIsNoMultipleOfTheGranularityIsInvalid) {
  Device device({.capacity = 4_GiB});
  EXPECT_EQ(device.create_page(11_MiB, {}).status.code, DriverCode::invalid);
  EXPECT_EQ(device.create_page(12_MiB, {}).status.code, DriverCode::ok);
}

TEST(SimMapping, SegmentsAndReservationsKeepClearOfEachOther) {
  Device device({.granularity = 512_B, .base = {0x10000000}});
  EXPECT_EQ(device.allocate_segment(512_B).value, Address{0x10000000});
  EXPECT_EQ(reserve(device, 4_MiB), Address{0x10000000} + 2_MiB) << "aligned to a page";
  EXPECT_EQ(device.allocate_segment(512_B).value, Address{0x10000000} + 512_B);
  EXPECT_EQ(device.allocate_segment(4_MiB).value, Address{0x10000000} + 6_MiB);
}

class Wish final : public AddressScript {
 public:
  explicit Wish(Address at) : at_(at) {}
  Address next(Bytes /*size*/) override { return at_; }
  Address next_reservation(Bytes /*size*/) override { return at_; }

 private:
  Address at_;
};

TEST(SimMapping, ReservationsCanBeScripted) {
  Device device;
  Wish wish({0x7f5a00000000});
  device.set_script(&wish);
  EXPECT_EQ(reserve(device, 64_MiB), Address{0x7f5a00000000});
  EXPECT_EQ(device.reserve(2_MiB).status.code, DriverCode::invalid) << "in use";
  EXPECT_EQ(device.allocate_segment(2_MiB).status.code, DriverCode::invalid) << "in use";
  Wish crooked({0x7f5b00001000});
  device.set_script(&crooked);
  EXPECT_EQ(device.reserve(2_MiB).status.code, DriverCode::invalid) << "not at a page";
  device.set_script(nullptr);
  EXPECT_TRUE(device.unreserve({0x7f5a00000000}, 64_MiB));
}

// The order and forms of the calls that the conformance recordings show for growing and shrinking by two pages.
TEST(SimMapping, TheLogSpeaksInTheCallsOfCuda) {
  Device device({.capacity = 4_GiB, .record_calls = true});
  const Address at = reserve(device, 4620_MiB);
  const auto first = create(device, 20_MiB, 1);
  EXPECT_EQ(map(device, at, 20_MiB, first), DriverCode::ok);
  const auto pages = create(device, 20_MiB, 2);
  EXPECT_EQ(map(device, at + 20_MiB, 20_MiB, pages), DriverCode::ok);
  EXPECT_EQ(log_of(device), (std::vector<std::string>{"reserve 4620", "create_page 20", "map 20 at 0",
                                                      "set_access 20 at 0", "create_page 20", "create_page 20",
                                                      "map 20 at 20", "map 20 at 40", "set_access 40 at 20"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(device.unmap(at + 20_MiB * (i + 1), 20_MiB));
    EXPECT_TRUE(device.destroy_page(pages[i]));
  }
  EXPECT_TRUE(device.unmap(at, 20_MiB));
  EXPECT_TRUE(device.destroy_page(first[0]));
  EXPECT_TRUE(device.unreserve(at, 4620_MiB));
  EXPECT_EQ(log_of(device),
            (std::vector<std::string>{"unmap 20 at 20", "destroy_page 20", "unmap 20 at 40", "destroy_page 20",
                                      "unmap 20 at 0", "destroy_page 20", "unreserve 4620"}));
}

TEST(SimMapping, AFaultInTheMiddleOfAMapUndoesIt) {
  Device device({.capacity = 4_GiB, .record_calls = true});
  const Address at = reserve(device, 100_MiB);
  const auto pages = create(device, 20_MiB, 3);
  log_of(device);
  device.fail(Call::map, 3, DriverCode::other);
  EXPECT_EQ(map(device, at, 20_MiB, pages), DriverCode::other);
  EXPECT_EQ(log_of(device),
            (std::vector<std::string>{"map 20 at 0", "map 20 at 20", "map 20 at 40 fails", "unmap 40 at 0"}));
  device.fail(Call::map, 1);
  EXPECT_EQ(map(device, at, 20_MiB, pages), DriverCode::out_of_memory);
  EXPECT_EQ(log_of(device), (std::vector<std::string>{"map 20 at 0 fails"}));
  device.fail(Call::set_access, 1);
  EXPECT_EQ(map(device, at, 20_MiB, pages), DriverCode::out_of_memory);
  EXPECT_EQ(log_of(device), (std::vector<std::string>{"map 20 at 0", "map 20 at 20", "map 20 at 40",
                                                      "set_access 60 at 0 fails", "unmap 60 at 0"}));
  EXPECT_EQ(device.holdings().mappings, 0u);
  EXPECT_EQ(map(device, at, 20_MiB, pages), DriverCode::ok) << "the next request works";
}

TEST(SimMapping, PagesCostMoreThanAddresses) {
  Device device({.profile = "a100"});
  const auto cost = find_profile("a100")->cost;
  const auto fixed = [&](Call call) { return cost[static_cast<std::size_t>(call)].fixed_ns; };
  const Address at = reserve(device, 1_GiB);
  EXPECT_EQ(device.clock_ns(), static_cast<std::uint64_t>(fixed(Call::reserve)));
  const auto pages = create(device, 2_MiB, 2);
  const std::uint64_t before = device.clock_ns();
  EXPECT_EQ(map(device, at, 2_MiB, pages), DriverCode::ok);
  EXPECT_NEAR(static_cast<double>(device.clock_ns() - before), 2 * fixed(Call::map) + fixed(Call::set_access), 1);
}

}  // namespace
}  // namespace quarry::sim
