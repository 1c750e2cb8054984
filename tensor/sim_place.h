// Tensors on the simulated device: the C++ code of the host, run in the order of the device's virtual time.
#pragma once

#include <memory>

#include <quarry/allocator/sim/device.h>
#include <quarry/tensor/place.h>

namespace quarry {

// Queues each work with the ranges it reads and writes, so that the device's hazard checker judges it. Pageable memory
// is left out of them: a device does not know it. The device has Backing::memfd.
std::shared_ptr<Executor> make_sim_executor(std::shared_ptr<sim::Device> device);

// A place on a new simulated device with real memory. Errors of Allocator::open.
Result<Place> open_sim_place(const Options& options = {});

}  // namespace quarry
