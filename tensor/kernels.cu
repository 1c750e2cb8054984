// The device code: every operation of work.h by the element functions of elements.h, so with the host's results. NaNs
// are NaNs, but their bits may differ, because the GPU makes all of them alike. Compiled without contraction of a
// product and a sum into one rounding (--fmad=false), which the host does not do either.
#include <cuda_runtime.h>

#include <cstring>

#include <quarry/tensor/cuda_kernels.h>
#include <quarry/tensor/device_loop.cuh>
#include <quarry/tensor/device_reduce.cuh>

namespace quarry {

namespace {

// Copies --------------------------------------------------------------------------------------------------------------

// 16 bytes at the alignment of their halves: that is all a complex128 of someone else has.
struct TwoWords {
  std::uint64_t low;
  std::uint64_t high;
};

template <class Bits>
struct Move {
  Bits* out;
  const Bits* in;
  __device__ void operator()(const Offsets<2>& offset, std::uint64_t) const { out[offset.at[0]] = in[offset.at[1]]; }
};

template <class Bits>
struct Fill {
  Bits* out;
  Bits value;
  __device__ void operator()(const Offsets<1>& offset, std::uint64_t) const { out[offset.at[0]] = value; }
};

template <class Bits>
cudaError_t copy_bits(const Work& work, cudaStream_t stream) {
  auto* const out = static_cast<Bits*>(work.out.data);
  if (work.op == Op::fill) {
    Fill<Bits> fill{out, {}};
    std::memcpy(&fill.value, work.value.bytes.data(), sizeof(Bits));
    return run_each<1>(work.sizes, {&work.out.strides}, fill, stream);
  }
  const Move<Bits> move{out, static_cast<const Bits*>(work.in[0].data)};
  return run_each<2>(work.sizes, {&work.out.strides, &work.in[0].strides}, move, stream);
}

bool is_one_range(const Work& work) {
  const LoopShape<2> shape = loop_shape<2>(work.sizes, {&work.out.strides, &work.in[0].strides});
  return shape.dims == 1 && !shape.empty &&
         (shape.sizes[0] == 1 || shape.strides[0] == std::array<std::int64_t, 2>{1, 1});
}

cudaError_t copy_by_size(const Work& work, cudaStream_t stream) {
  const std::size_t size = element_size(work.out.dtype);
  if (work.op == Op::copy && is_one_range(work)) {
    if (work.out.data == work.in[0].data) return cudaSuccess;
    const std::size_t bytes = product(work.sizes, 0, work.sizes.size()) * size;
    return cudaMemcpyAsync(work.out.data, work.in[0].data, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  switch (size) {
    case 1:
      return copy_bits<std::uint8_t>(work, stream);
    case 2:
      return copy_bits<std::uint16_t>(work, stream);
    case 4:
      return copy_bits<std::uint32_t>(work, stream);
    case 8:
      return copy_bits<std::uint64_t>(work, stream);
    default:
      return copy_bits<TwoWords>(work, stream);
  }
}

// W holds every value of the type it comes from, so converting twice is converting once.
template <class W>
struct Cast {
  void* out;
  DType to;
  const void* in;
  DType from;
  __device__ void operator()(const Offsets<2>& offset, std::uint64_t) const {
    store<W>(out, to, offset.at[0], load<W>(in, from, offset.at[1]));
  }
};

template <class W>
cudaError_t cast(const Work& work, cudaStream_t stream) {
  const Cast<W> each{work.out.data, work.out.dtype, work.in[0].data, work.in[0].dtype};
  return run_each<2>(work.sizes, {&work.out.strides, &work.in[0].strides}, each, stream);
}

cudaError_t copy(const Work& work, cudaStream_t stream) {
  if (work.op == Op::fill || work.out.dtype == work.in[0].dtype) return copy_by_size(work, stream);
  return is_floating(work.in[0].dtype) ? cast<double>(work, stream) : cast<std::int64_t>(work, stream);
}

// Elements ------------------------------------------------------------------------------------------------------------

template <class To, class T, class F>
struct Binary {
  To* out;
  const T* left;
  const T* right;  // null: the constant
  T constant;
  __device__ void operator()(const Offsets<3>& offset, std::uint64_t) const {
    using C = ComputeType<T>;
    const T other = right != nullptr ? right[offset.at[2]] : constant;
    out[offset.at[0]] = convert<To>(F{}(convert<C>(left[offset.at[1]]), convert<C>(other)));
  }
};

template <class To, class T, class F>
cudaError_t binary(const Work& work, F, cudaStream_t stream) {
  Binary<To, T, F> each{static_cast<To*>(work.out.data), static_cast<const T*>(work.in[0].data),
                        static_cast<const T*>(work.in[1].data), T{}};
  std::memcpy(&each.constant, work.value.bytes.data(), sizeof(T));
  const Dims still = Dims::of(work.sizes.size(), 0);
  const Dims& right = each.right != nullptr ? work.in[1].strides : still;
  return run_each<3>(work.sizes, {&work.out.strides, &work.in[0].strides, &right}, each, stream);
}

template <class T, class F>
struct Unary {
  T* out;
  const T* in;
  __device__ void operator()(const Offsets<2>& offset, std::uint64_t) const {
    out[offset.at[0]] = convert<T>(F{}(convert<ComputeType<T>>(in[offset.at[1]])));
  }
};

template <class T, class F>
cudaError_t unary(const Work& work, F, cudaStream_t stream) {
  const Unary<T, F> each{static_cast<T*>(work.out.data), static_cast<const T*>(work.in[0].data)};
  return run_each<2>(work.sizes, {&work.out.strides, &work.in[0].strides}, each, stream);
}

template <class T>
struct Arange {
  T* out;
  double start;
  double step;
  std::int64_t whole_start;
  std::int64_t whole_step;
  __device__ void operator()(const Offsets<1>& offset, std::uint64_t i) const {
    out[offset.at[0]] = arange_element<T>(start, step, whole_start, whole_step, static_cast<std::int64_t>(i));
  }
};

template <class T>
struct Random {
  T* out;
  std::uint64_t seed;
  __device__ void operator()(const Offsets<1>& offset, std::uint64_t i) const {
    out[offset.at[0]] = random_element<T>(seed, i);
  }
};

template <class T>
cudaError_t arithmetic(const Work& work, cudaStream_t stream) {
  switch (work.op) {
    case Op::add:
      return binary<T, T>(work, AddElements{}, stream);
    case Op::sub:
      return binary<T, T>(work, SubElements{}, stream);
    case Op::mul:
      return binary<T, T>(work, MulElements{}, stream);
    case Op::relu:
      return unary<T>(work, ReluElement{}, stream);
    case Op::arange: {
      const auto& [start, step] = work.range;
      const Arange<T> each{static_cast<T*>(work.out.data), start.real, step.real, start.integer, step.integer};
      return run_each<1>(work.sizes, {&work.out.strides}, each, stream);
    }
    default:
      return cudaErrorNotSupported;
  }
}

template <class T>
cudaError_t of_floating(const Work& work, cudaStream_t stream) {
  switch (work.op) {
    case Op::div:
      return binary<T, T>(work, DivElements{}, stream);
    case Op::sqrt:
      return unary<T>(work, SqrtElement{}, stream);
    case Op::random:
      return run_each<1>(work.sizes, {&work.out.strides}, Random<T>{static_cast<T*>(work.out.data), work.seed}, stream);
    default:
      return arithmetic<T>(work, stream);
  }
}

// The operations each dtype has: what ops.cpp and create.cpp let through.
template <class T>
cudaError_t elementwise(const Work& work, cudaStream_t stream) {
  if (work.op == Op::equal) return binary<bool, T>(work, EqualElements{}, stream);
  if constexpr (std::is_same_v<T, bool>) {
    return cudaErrorNotSupported;
  } else if constexpr (std::is_integral_v<T>) {
    return arithmetic<T>(work, stream);
  } else {
    return of_floating<T>(work, stream);
  }
}

// Matrix product ------------------------------------------------------------------------------------------------------

constexpr unsigned kTile = 16;

// A matrix anywhere: element (i, j) lies at i * row + j * column.
struct Matrix {
  void* data;
  DType dtype;
  std::int64_t row;
  std::int64_t column;

  __device__ std::int64_t at(std::uint64_t i, std::uint64_t j) const {
    return static_cast<std::int64_t>(i) * row + static_cast<std::int64_t>(j) * column;
  }
};

Matrix matrix(const Operand& operand, std::size_t row, std::size_t column) {
  return {operand.data, operand.dtype, operand.strides[row], operand.strides[column]};
}

struct Product {
  Matrix out;
  Matrix left;
  Matrix right;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t depth;

  QUARRY_BOTH std::uint64_t tiles_across() const { return (columns + kTile - 1) / kTile; }
  QUARRY_BOTH std::uint64_t tiles() const { return (rows + kTile - 1) / kTile * tiles_across(); }
};

// A block makes a tile of the result, a thread one element of it: its terms are added in order, as on the host.
template <class C>
__device__ C element_of_product(const Product& product, std::uint64_t row, std::uint64_t column) {
  __shared__ C left[kTile][kTile];
  __shared__ C right[kTile][kTile];
  const unsigned i = threadIdx.y;
  const unsigned j = threadIdx.x;
  C total{};
  for (std::uint64_t begin = 0; begin < product.depth; begin += kTile) {
    const std::uint64_t left_k = begin + j;
    const std::uint64_t right_k = begin + i;
    const bool in_left = row < product.rows && left_k < product.depth;
    const bool in_right = column < product.columns && right_k < product.depth;
    left[i][j] = in_left ? load<C>(product.left.data, product.left.dtype, product.left.at(row, left_k)) : C{};
    right[i][j] = in_right ? load<C>(product.right.data, product.right.dtype, product.right.at(right_k, column)) : C{};
    __syncthreads();
    const std::uint64_t rest = product.depth - begin;
    const unsigned width = rest < kTile ? static_cast<unsigned>(rest) : kTile;
    for (unsigned k = 0; k < width; ++k) total += left[i][k] * right[k][j];
    __syncthreads();
  }
  return total;
}

template <class C>
__global__ void multiply(const __grid_constant__ Product product) {
  // All threads of a block go through the same tiles, so that they meet at every barrier.
  for (std::uint64_t tile = blockIdx.x; tile < product.tiles(); tile += gridDim.x) {
    const std::uint64_t row = tile / product.tiles_across() * kTile + threadIdx.y;
    const std::uint64_t column = tile % product.tiles_across() * kTile + threadIdx.x;
    const C total = element_of_product<C>(product, row, column);
    if (row < product.rows && column < product.columns) {
      store<C>(product.out.data, product.out.dtype, product.out.at(row, column), total);
    }
  }
}

cudaError_t matmul(const Work& work, cudaStream_t stream) {
  const Product product{matrix(work.out, 0, 1),
                        matrix(work.in[0], 0, 2),
                        matrix(work.in[1], 2, 1),
                        static_cast<std::uint64_t>(work.sizes[0]),
                        static_cast<std::uint64_t>(work.sizes[1]),
                        static_cast<std::uint64_t>(work.sizes[2])};
  if (product.tiles() == 0) return cudaSuccess;
  const auto kernel = work.out.dtype == DType::f64 ? multiply<double> : multiply<float>;
  return launch_blocks(kernel, product.tiles(), dim3(kTile, kTile), stream, product);
}

cudaError_t launch_one(const Work& work, cudaStream_t stream, void* scratch, std::size_t& scratch_bytes) {
  if (work.op <= Op::fill) return copy(work, stream);
  if (work.op == Op::matmul) return matmul(work, stream);
  if (work.op >= Op::sum) return reduce(work, stream, scratch, scratch_bytes);
  const DType dtype = work.inputs > 0 ? work.in[0].dtype : work.out.dtype;
  return with_number(dtype, [&](auto tag) { return elementwise<typename decltype(tag)::Type>(work, stream); });
}

}  // namespace

cudaError_t launch(const Work& work, cudaStream_t stream, void* scratch, std::size_t& scratch_bytes) {
  const cudaError_t error = launch_one(work, stream, scratch, scratch_bytes);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error;
}

cudaError_t find_kernels() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, multiply<float>);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error;
}

}  // namespace quarry
