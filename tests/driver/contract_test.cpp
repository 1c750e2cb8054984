// The contract suites over every driver there is.
#include <gtest/gtest.h>

#include <vector>

#include <quarry/allocator/driver/host.h>
#include <quarry/allocator/driver/pinned.h>
#include <quarry/allocator/sim/device.h>

#include "support/driver_contract.h"
#ifdef QUARRY_STANDIN_LIBRARY
#include "support/standin.h"
#endif

namespace quarry::contract {
namespace {

using namespace literals;

sim::Device& device(Driver& driver) { return dynamic_cast<sim::Device&>(driver); }

ContractDriver simulated(const std::string& name, const sim::DeviceOptions& options) {
  return {name, [options]() -> std::shared_ptr<Driver> { return std::make_shared<sim::Device>(options); },
          [](Driver& driver) { return device(driver).create_stream(); },
          [](Driver& driver, void* stream) { EXPECT_TRUE(device(driver).destroy_stream(stream)); }};
}

// Every stream comes with work that takes its time.
ContractDriver busy(ContractDriver driver) {
  driver.make_stream = [](Driver& of) {
    void* const stream = device(of).create_stream();
    device(of).work(stream, 1'000'000'000);
    return stream;
  };
  return driver;
}

// Nothing runs on any stream until it is waited for.
ContractDriver held(ContractDriver driver) {
  driver.make_stream = [](Driver& of) {
    void* const stream = device(of).create_stream();
    device(of).hold(stream);
    return stream;
  };
  return driver;
}

#ifdef QUARRY_STANDIN_LIBRARY
// The CUDA backend on the stand-in libcuda.
ContractDriver cuda() {
  return {"cuda", [] { return standin::fresh_driver(); },
          [](Driver&) { return standin::control().device(0).create_stream(); },
          [](Driver&, void* stream) { EXPECT_TRUE(standin::control().device(0).destroy_stream(stream)); }};
}

ContractDriver cuda_held() {
  ContractDriver driver = cuda();
  driver.name = "cuda_held";
  driver.make_stream = [](Driver&) {
    void* const stream = standin::control().device(0).create_stream();
    standin::control().device(0).hold(stream);
    return stream;
  };
  return driver;
}
#endif

// Pinned memory of a simulated device, with its streams.
ContractDriver pinned(const std::string& name, const PinnedDriverOptions& options, sim::Backing backing) {
  const auto made = std::make_shared<std::shared_ptr<sim::Device>>();
  return {name,
          [=] {
            *made = std::make_shared<sim::Device>(sim::DeviceOptions{.backing = backing});
            return make_pinned_driver(*made, options);
          },
          [=](Driver&) { return (*made)->create_stream(); },
          [=](Driver&, void* stream) { EXPECT_TRUE((*made)->destroy_stream(stream)); }};
}

std::vector<ContractDriver> devices() {
  return {
#ifdef QUARRY_STANDIN_LIBRARY
      cuda(),
      cuda_held(),
#endif
      simulated("sim", {.capacity = 1_GiB}),
      simulated("sim_unlimited", {}),
      simulated("sim_small_granularity", {.capacity = 1_GiB, .granularity = 512_B, .profile = "free"}),
      simulated("sim_small_pages", {.capacity = 1_GiB, .page_granularity = 64_KiB}),
      simulated("sim_memfd", {.capacity = 1_GiB, .backing = sim::Backing::memfd}),
      busy(simulated("sim_busy", {.capacity = 1_GiB})),
      held(simulated("sim_held", {.capacity = 1_GiB}))};
}

std::vector<ContractDriver> with_ordering() {
  std::vector<ContractDriver> drivers = devices();
  drivers.push_back(pinned("pinned", {}, sim::Backing::memfd));
  drivers.push_back(pinned("pinned_registered", {.registers = true, .touch_threads = 4}, sim::Backing::memfd));
  drivers.push_back(pinned("pinned_addresses", {.registers = true}, sim::Backing::none));
  return drivers;
}

std::vector<ContractDriver> with_mapping() {
  std::vector<ContractDriver> drivers = devices();
  drivers.push_back({"host", [] { return make_host_driver(); }});
  return drivers;
}

std::vector<ContractDriver> all() {
  std::vector<ContractDriver> drivers = with_ordering();
  drivers.push_back({"host", [] { return make_host_driver(); }});
  drivers.push_back({"host_private", [] { return make_host_driver({.mapping = false}); }});
  drivers.push_back({"locked", [] { return make_locked_driver(); }});
  drivers.push_back(simulated("sim_memory_only", {.capacity = 1_GiB, .mapping = false, .ordering = false}));
  return drivers;
}

INSTANTIATE_TEST_SUITE_P(Drivers, MemoryContract, ::testing::ValuesIn(all()), name_of);
INSTANTIATE_TEST_SUITE_P(Drivers, MappingContract, ::testing::ValuesIn(with_mapping()), name_of);
INSTANTIATE_TEST_SUITE_P(Drivers, OrderingContract, ::testing::ValuesIn(with_ordering()), name_of);

}  // namespace
}  // namespace quarry::contract
