// The device under every subject: simulated, without limits, and its calls take no virtual time.
#pragma once

#include <memory>

#include <quarry/allocator/sim/device.h>

namespace quarry::bench {

inline std::shared_ptr<sim::Device> simulated_device() {
  sim::DeviceOptions options;
  options.profile = "free";
  return std::make_shared<sim::Device>(options);
}

}  // namespace quarry::bench
