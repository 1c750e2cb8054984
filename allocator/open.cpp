// Ready-made spaces: one call from nothing to an allocator.
#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/cuda.h>
#include <quarry/allocator/driver/host.h>
#include <quarry/allocator/driver/pinned.h>
#include <quarry/allocator/sim/device.h>

namespace quarry {
namespace {

// Small, because a segment is whole pages: 1/16 of the smallest request that has one of its own.
constexpr Bytes kHostPage{64ull << 10};

Options for_host(Options options) {
  if (options.page_size == Options{}.page_size) options.page_size = kHostPage;
  return options;
}

HostDriverOptions host_memory(const Options& options) {
  return {.mapping = false, .huge_pages = options.host_huge_pages, .numa = options.host_numa};
}

PinnedDriverOptions pinned_memory(const Options& options) {
  return {.registers = options.pinned_use_cuda_host_register,
          .touch_threads = options.pinned_num_register_threads,
          .host = host_memory(options)};
}

}  // namespace

Result<Allocator> open_host(const Options& options) {
  return Allocator::open(make_host_driver(host_memory(options)), for_host(options));
}

Result<Allocator> open_pinned(const Allocator& device, const Options& options) {
  Driver& driver = *device.driver();
  if (driver.ordering() == nullptr || driver.host_stream() != nullptr) {
    return Error{ErrorCode::unsupported, "pinned memory is made for a device with streams; " +
                                             driver.memory().capabilities().name + " is none"};
  }
  return Allocator::open(make_pinned_driver(device.driver(), pinned_memory(options)), for_host(options));
}

Result<Allocator> open_pinned(const Options& options) {
  return Allocator::open(make_locked_driver(pinned_memory(options)), for_host(options));
}

Result<Allocator> open_device(int ordinal, const Options& options) {
  Result<std::shared_ptr<Driver>> driver = make_cuda_driver(ordinal);
  if (!driver) return driver.error();
  return Allocator::open(*std::move(driver), options);
}

Result<Allocator> sim::open(const DeviceOptions& device, const Options& options) {
  return Allocator::open(std::make_shared<Device>(device), options);
}

}  // namespace quarry
