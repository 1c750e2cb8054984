// Tensors on a GPU: work runs as kernels, on the streams of the device's primary context. Of library
// quarry_tensor_cuda, which needs the CUDA runtime to link and nothing to start.
#pragma once

#include <memory>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/options.h>
#include <quarry/tensor/place.h>

namespace quarry {

// A place on CUDA device `ordinal`, with an allocator of its own and the default stream; Place::on takes any
// cudaStream_t or CUstream of that context. Errors of open_device, and `unsupported` where the driver is too old for
// the runtime or the GPU runs none of the kernels (compute capability 8.0 or newer does). Never a simulation.
//
// Results are the host's, bit for bit, but for the bits of a NaN and, of many elements, the last bits of sum and mean
// of floating types (device_reduce.cuh has the bound). Scratch memory of reductions comes from the same allocator, on
// the stream of the work. Every call makes the device's context current and puts back what the caller had.
Result<Place> open_cuda_place(int ordinal, const Options& options = {});
// The same on a driver that make_cuda_driver made for that device.
Result<Place> open_cuda_place(std::shared_ptr<Driver> driver, int ordinal, const Options& options = {});

}  // namespace quarry
