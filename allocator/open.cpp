// Ready-made spaces: one call from nothing to an allocator.
#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/cuda.h>
#include <quarry/allocator/driver/host.h>
#include <quarry/allocator/sim/device.h>

namespace quarry {

Result<Allocator> open_host(const Options& options) { return Allocator::open(make_host_driver(), options); }

Result<Allocator> open_device(int ordinal, const Options& options) {
  Result<std::shared_ptr<Driver>> driver = make_cuda_driver(ordinal);
  if (!driver) return driver.error();
  return Allocator::open(*std::move(driver), options);
}

Result<Allocator> sim::open(const DeviceOptions& device, const Options& options) {
  return Allocator::open(std::make_shared<Device>(device), options);
}

}  // namespace quarry
