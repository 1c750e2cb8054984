// A simulated device, and the driver through which an allocator reaches it.
#pragma once

#include <functional>
#include <memory>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// `driver` is the device itself, or a backend that ends at it.
struct SimBackend {
  std::shared_ptr<sim::Device> device;
  std::shared_ptr<Driver> driver;
};

// Makes a fresh one for each run. The one made before may then be dead: runs follow each other.
using MakeSimBackend = std::function<SimBackend(const sim::DeviceOptions&)>;

inline SimBackend plain_sim_backend(const sim::DeviceOptions& options) {
  const auto device = std::make_shared<sim::Device>(options);
  return {device, device};
}

}  // namespace quarry::tools
