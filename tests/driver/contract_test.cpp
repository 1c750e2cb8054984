// The contract suite over every driver there is.
#include <gtest/gtest.h>

#include <quarry/allocator/driver/host.h>
#include <quarry/allocator/sim/device.h>

#include "support/driver_contract.h"

namespace quarry::contract {
namespace {

using namespace literals;

ContractDriver simulated(const std::string& name, const sim::DeviceOptions& options) {
  return {name, [options]() -> std::shared_ptr<Driver> { return std::make_shared<sim::Device>(options); }};
}

INSTANTIATE_TEST_SUITE_P(Drivers, DriverContract,
                         ::testing::Values(simulated("sim", {.capacity = 1_GiB}), simulated("sim_unlimited", {}),
                                           simulated("sim_small_granularity",
                                                     {.capacity = 1_GiB, .granularity = 512_B, .profile = "free"}),
                                           ContractDriver{"host", make_host_driver}),
                         name_of);

}  // namespace
}  // namespace quarry::contract
