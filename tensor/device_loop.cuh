// What every kernel shares: where element number i lies, elements by dtype, and the launch of a loop over elements.
// Index arithmetic is in 64 bits.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <quarry/tensor/dtype.h>
#include <quarry/tensor/elements.h>
#include <quarry/tensor/host_loop.h>

namespace quarry {

// LoopShape as a kernel takes it, by value: plain arrays of fixed size.
template <std::size_t N>
struct DeviceShape {
  int dims;  // at least 1
  std::uint64_t sizes[kMaxDims];
  std::int64_t strides[kMaxDims][N];
};

template <std::size_t N>
DeviceShape<N> device_shape(const Dims& sizes, const std::array<const Dims*, N>& strides) {
  const LoopShape<N> loop = loop_shape(sizes, strides);
  DeviceShape<N> shape{};
  shape.dims = static_cast<int>(loop.dims);
  for (std::size_t dim = 0; dim < loop.dims; ++dim) {
    shape.sizes[dim] = static_cast<std::uint64_t>(loop.sizes[dim]);
    for (std::size_t k = 0; k < N; ++k) shape.strides[dim][k] = loop.strides[dim][k];
  }
  return shape;
}

inline std::uint64_t product(const Dims& sizes, std::size_t begin, std::size_t end) {
  std::uint64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= static_cast<std::uint64_t>(sizes[i]);
  return result;
}

template <std::size_t N>
struct Offsets {
  std::int64_t at[N];  // in elements, one for each operand
};

// Where element `index`, counted in order, lies. No size on the way is 0: there is an element.
template <std::size_t N>
QUARRY_BOTH Offsets<N> offsets(const DeviceShape<N>& shape, std::uint64_t index) {
  Offsets<N> result{};
  for (int dim = shape.dims - 1; dim > 0; --dim) {
    const std::uint64_t size = shape.sizes[dim];
    std::uint64_t above = 0;
    if ((index | size) >> 32 == 0) {  // a 64-bit division takes several times as long
      above = static_cast<std::uint32_t>(index) / static_cast<std::uint32_t>(size);
    } else {
      above = index / size;
    }
    const auto here = static_cast<std::int64_t>(index - above * size);
    for (std::size_t k = 0; k < N; ++k) result.at[k] += here * shape.strides[dim][k];
    index = above;
  }
  for (std::size_t k = 0; k < N; ++k) result.at[k] += static_cast<std::int64_t>(index) * shape.strides[0][k];
  return result;
}

// Elements whose dtype is known at run time only, through one wide type W: int64 for integers and bool, double for
// floating types, float for all. All threads take the same branch.
template <class W>
QUARRY_BOTH W load_integer(const void* data, DType dtype, std::int64_t at) {
  switch (dtype) {
    case DType::boolean:
      return convert<W>(static_cast<const bool*>(data)[at]);
    case DType::u8:
      return convert<W>(static_cast<const std::uint8_t*>(data)[at]);
    case DType::i8:
      return convert<W>(static_cast<const std::int8_t*>(data)[at]);
    case DType::i16:
      return convert<W>(static_cast<const std::int16_t*>(data)[at]);
    case DType::i32:
      return convert<W>(static_cast<const std::int32_t*>(data)[at]);
    default:
      return convert<W>(static_cast<const std::int64_t*>(data)[at]);
  }
}

template <class W>
QUARRY_BOTH W load_floating(const void* data, DType dtype, std::int64_t at) {
  switch (dtype) {
    case DType::f16:
      return convert<W>(static_cast<const F16*>(data)[at]);
    case DType::bf16:
      return convert<W>(static_cast<const BF16*>(data)[at]);
    case DType::f64:
      return convert<W>(static_cast<const double*>(data)[at]);
    default:
      return convert<W>(static_cast<const float*>(data)[at]);
  }
}

template <class W>
QUARRY_BOTH W load(const void* data, DType dtype, std::int64_t at) {
  if constexpr (std::is_same_v<W, std::int64_t>) return load_integer<W>(data, dtype, at);
  if constexpr (std::is_same_v<W, float>) {
    if (!is_floating(dtype)) return load_integer<W>(data, dtype, at);
  }
  return load_floating<W>(data, dtype, at);
}

template <class T, class W>
QUARRY_BOTH void store_as(void* data, std::int64_t at, W value) {
  static_cast<T*>(data)[at] = convert<T>(value);
}

template <class W>
QUARRY_BOTH void store(void* data, DType dtype, std::int64_t at, W value) {
  switch (dtype) {
    case DType::boolean:
      return store_as<bool>(data, at, value);
    case DType::u8:
      return store_as<std::uint8_t>(data, at, value);
    case DType::i8:
      return store_as<std::int8_t>(data, at, value);
    case DType::i16:
      return store_as<std::int16_t>(data, at, value);
    case DType::i32:
      return store_as<std::int32_t>(data, at, value);
    case DType::i64:
      return store_as<std::int64_t>(data, at, value);
    case DType::f16:
      return store_as<F16>(data, at, value);
    case DType::bf16:
      return store_as<BF16>(data, at, value);
    case DType::f64:
      return store_as<double>(data, at, value);
    default:
      return store_as<float>(data, at, value);
  }
}

// Launches ------------------------------------------------------------------------------------------------------------

constexpr unsigned kThreads = 256;
// Blocks of a loop: a few waves on the largest GPUs. Each thread goes on to the next element of the grid's width.
constexpr std::uint64_t kMostBlocks = 8192;

// Says what became of this launch, and of no earlier one. `blocks` is at least 1; more than kMostBlocks are cut to
// that, so the kernel loops.
template <class... P, class... A>
cudaError_t launch_blocks(void (*kernel)(P...), std::uint64_t blocks, dim3 threads, cudaStream_t stream,
                          const A&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min(blocks, kMostBlocks)));
  config.blockDim = threads;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, P(arguments)...);
}

// A thread for each of `items`, at least one.
template <class... P, class... A>
cudaError_t launch_loop(void (*kernel)(P...), std::uint64_t items, cudaStream_t stream, const A&... arguments) {
  return launch_blocks(kernel, (items - 1) / kThreads + 1, dim3(kThreads), stream, arguments...);
}

__device__ inline std::uint64_t first_item() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::uint64_t item_step() { return static_cast<std::uint64_t>(gridDim.x) * blockDim.x; }

template <std::size_t N, class F>
__global__ void each_element(const __grid_constant__ DeviceShape<N> shape, const std::uint64_t count,
                             const __grid_constant__ F f) {
  for (std::uint64_t i = first_item(); i < count; i += item_step()) f(offsets(shape, i), i);
}

// f(offsets, number) for each element, in any order; F is plain data with a device function.
template <std::size_t N, class F>
cudaError_t run_each(const Dims& sizes, const std::array<const Dims*, N>& strides, const F& f, cudaStream_t stream) {
  const std::uint64_t count = product(sizes, 0, sizes.size());
  if (count == 0) return cudaSuccess;
  return launch_loop(each_element<N, F>, count, stream, device_shape<N>(sizes, strides), count, f);
}

}  // namespace quarry
