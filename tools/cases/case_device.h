// The simulated device that a case drives, and the driver through which its allocator reaches it.
#pragma once

#include <functional>
#include <memory>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// `driver` is the device itself, or a backend that ends at it.
struct CaseDevice {
  std::shared_ptr<sim::Device> device;
  std::shared_ptr<Driver> driver;
};

// Makes a fresh one for each case.
using MakeCaseDevice = std::function<CaseDevice(const sim::DeviceOptions&)>;

inline CaseDevice plain_case_device(const sim::DeviceOptions& options) {
  const auto device = std::make_shared<sim::Device>(options);
  return {device, device};
}

}  // namespace quarry::tools
