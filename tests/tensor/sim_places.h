// The places on a simulated device, with its memory and its hazard checker at hand.
#pragma once

#include <memory>
#include <string>

#include <quarry/allocator/sim/device.h>
#include "tensor/places.h"

namespace quarry::tensor_tests {

struct SimPlaces final : Places {
  explicit SimPlaces(std::shared_ptr<sim::Device> made = std::make_shared<sim::Device>(sim::DeviceOptions{
                         .backing = sim::Backing::memfd}));

  void* create_stream() override { return sim->create_stream(); }
  void lag(void* stream, std::uint64_t random) override;
  void wait_for_all() override { (void)sim->synchronize_device(); }
  std::string hazard() override;

  std::shared_ptr<sim::Device> sim;
};

}  // namespace quarry::tensor_tests
