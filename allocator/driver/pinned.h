// Page-locked host memory behind the driver seam.
#pragma once

#include <cstdint>
#include <memory>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/driver/host.h>

namespace quarry {

struct PinnedDriverOptions {
  bool registers = false;           // true: ordinary memory, touched and then registered; false: the device's own call
  std::uint32_t touch_threads = 1;  // that touch the pages of a segment before it is registered
  HostDriverOptions host = {};      // of ordinary memory; its `mapping` is not looked at
};

// Host memory that `device` reaches, page-locked by its driver. Segments come from Memory::allocate_host, or from this
// process and go through Memory::register_host. The host owns every block: Ordering is the device's, every handle,
// null included, stands for a stream of the device, and host_stream() for the host, which has no queue to record
// on. Releasing waits for no work that the space has not been told of. No Mapping. `device` is not null.
std::shared_ptr<Driver> make_pinned_driver(std::shared_ptr<Driver> device, const PinnedDriverOptions& options = {});

// The same without a device: memory locked with mlock as far as the process may (RLIMIT_MEMLOCK). What may not be
// locked is handed out all the same; Capabilities::name says how much is locked and how much is not. No Ordering.
std::shared_ptr<Driver> make_locked_driver(const PinnedDriverOptions& options = {});

}  // namespace quarry
