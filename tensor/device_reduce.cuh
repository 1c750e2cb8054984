// Reductions, in two steps: threads fold parts of the elements of each result, then CUB the parts. Where a result has
// few elements, or there are results enough to keep the device busy, a part is the whole and there is no second step.
//
// Totals are kept in int64 or double, as on the host. Integers, min and max give the host's bits: order does not matter
// to them. In sum and mean of floating types parts are added in another order than on the host, so that results may
// differ before their last rounding: each is within (n - 1) x 2^-53 x (sum of the magnitudes) of the true sum of n
// elements (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), whatever the order, and is then rounded to
// its dtype. Without a second step the order is the host's.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_segmented_reduce.cuh>

#include <limits>

#include <quarry/tensor/work.h>
#include <quarry/tensor/device_loop.cuh>

namespace quarry {

constexpr std::uint64_t kFewElements = 256;    // of a result: not worth a second step
constexpr std::uint64_t kManyParts = 1 << 17;  // threads that keep the largest GPUs busy
constexpr std::uint64_t kLeastPart = 16;       // elements

// Not inlined: loops are unrolled, and every copy takes long to compile.
__noinline__ QUARRY_BOTH inline std::int64_t far_offset(const DeviceShape<1>& shape, std::int64_t i) {
  return offsets(shape, static_cast<std::uint64_t>(i)).at[0];
}

// Element number i of the input, the reduced dimensions innermost.
template <class W>
struct ElementAt {
  DeviceShape<1> shape;
  const void* data;
  DType dtype;

  QUARRY_BOTH W operator()(std::int64_t i) const {
    return load<W>(data, dtype, shape.dims == 1 ? i * shape.strides[0][0] : far_offset(shape, i));
  }
};

// Takes result number i; of a mean, its sum.
template <class W>
struct Finish {
  DeviceShape<1> shape;
  void* data;
  DType dtype;
  bool mean;
  double count;

  QUARRY_BOTH void operator()(std::int64_t i, W total) const {
    if constexpr (std::is_same_v<W, double>) {
      if (mean) total /= count;
    }
    store<W>(data, dtype, far_offset(shape, i), total);
  }
};

template <class W, class F>
struct Folding {
  ElementAt<W> element;
  Finish<W> finish;
  std::uint64_t results;
  std::uint64_t length;  // elements that become one result; may be 0
  std::uint64_t parts;   // of each result, at least 1
  W start;               // folded into anything, it changes nothing
  F f;
};

// Part p of a result takes elements p, p + parts, ..: neighbouring threads read neighbouring elements. `totals` gets
// the parts of a result one after the other; where there is one, it is the result and `totals` is not used.
template <class W, class F>
__global__ void fold_parts(const __grid_constant__ Folding<W, F> folding, W* const totals) {
  const std::uint64_t items = folding.results * folding.parts;
  for (std::uint64_t i = first_item(); i < items; i += item_step()) {
    const std::uint64_t result = i / folding.parts;
    const std::uint64_t first = result * folding.length;
    W total = folding.start;
#pragma unroll 4
    for (std::uint64_t k = i % folding.parts; k < folding.length; k += folding.parts) {
      total = folding.f(total, folding.element(static_cast<std::int64_t>(first + k)));
    }
    if (folding.parts == 1) {
      folding.finish(static_cast<std::int64_t>(result), total);
    } else {
      totals[i] = total;
    }
  }
}

struct SegmentBegin {
  std::int64_t length;
  QUARRY_BOTH std::int64_t operator()(std::int64_t segment) const { return segment * length; }
};

// The second step, by CUB's rules for its scratch: null asks for `bytes`.
template <class W, class F>
cudaError_t fold_totals(const Folding<W, F>& folding, const W* totals, cudaStream_t stream, void* scratch,
                        std::size_t& bytes) {
  using Numbers = thrust::counting_iterator<std::int64_t>;
  const auto out = thrust::make_tabulate_output_iterator(folding.finish);
  const thrust::transform_iterator<SegmentBegin, Numbers> begins(
      Numbers(0), SegmentBegin{static_cast<std::int64_t>(folding.parts)});
  static_cast<void>(cudaGetLastError());  // CUB takes an older error for its own
  return cub::DeviceSegmentedReduce::Reduce(scratch, bytes, totals, out, static_cast<std::int64_t>(folding.results),
                                            begins, begins + 1, folding.f, folding.start, stream);
}

template <class W, class F>
cudaError_t fold_both_steps(const Folding<W, F>& folding, cudaStream_t stream, void* scratch, std::size_t& bytes) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t size = folding.results * folding.parts * sizeof(W);
  const std::size_t totals_bytes = (size + kAlignment - 1) / kAlignment * kAlignment;
  auto* const totals = static_cast<W*>(scratch);
  if (scratch == nullptr) {
    const cudaError_t error = fold_totals<W, F>(folding, nullptr, stream, nullptr, bytes);
    bytes += totals_bytes;
    return error;
  }
  const cudaError_t error = launch_loop(fold_parts<W, F>, folding.results * folding.parts, stream, folding, totals);
  if (error != cudaSuccess) return error;
  std::size_t rest = bytes - totals_bytes;
  return fold_totals(folding, totals, stream, static_cast<std::byte*>(scratch) + totals_bytes, rest);
}

inline std::uint64_t parts_of(std::uint64_t results, std::uint64_t length) {
  if (length < kFewElements || results >= kManyParts) return 1;
  return std::min((kManyParts + results - 1) / results, length / kLeastPart);
}

template <class W, class F>
cudaError_t fold(const Work& work, W start, F f, cudaStream_t stream, void* scratch, std::size_t& bytes) {
  const std::size_t kept = work.sizes.size() - work.reduced;
  Dims kept_sizes;
  Dims kept_strides;
  for (std::size_t i = 0; i < kept; ++i) {
    kept_sizes.push_back(work.sizes[i]);
    kept_strides.push_back(work.out.strides[i]);
  }
  const std::uint64_t results = product(work.sizes, 0, kept);
  const std::uint64_t length = product(work.sizes, kept, work.sizes.size());
  if (results == 0) return cudaSuccess;
  const bool mean = work.op == Op::mean;
  const Folding<W, F> folding{
      {device_shape<1>(work.sizes, {&work.in[0].strides}), work.in[0].data, work.in[0].dtype},
      {device_shape<1>(kept_sizes, {&kept_strides}), work.out.data, work.out.dtype, mean, static_cast<double>(length)},
      results,
      length,
      parts_of(results, length),
      start,
      f};
  if (folding.parts > 1) return fold_both_steps(folding, stream, scratch, bytes);
  return launch_loop(fold_parts<W, F>, results, stream, folding, static_cast<W*>(nullptr));
}

template <class W>
cudaError_t reduce(const Work& work, cudaStream_t stream, void* scratch, std::size_t& bytes) {
  using Limits = std::numeric_limits<W>;
  constexpr W kLargest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr W kSmallest = Limits::has_infinity ? -Limits::infinity() : Limits::min();
  if (work.op == Op::min) return fold<W>(work, kLargest, MinElements{}, stream, scratch, bytes);
  if (work.op == Op::max) return fold<W>(work, kSmallest, MaxElements{}, stream, scratch, bytes);
  return fold<W>(work, W{}, AddElements{}, stream, scratch, bytes);
}

// sum, mean, min, max. Every element type is exact in one of the two.
inline cudaError_t reduce(const Work& work, cudaStream_t stream, void* scratch, std::size_t& bytes) {
  if (is_floating(work.in[0].dtype)) return reduce<double>(work, stream, scratch, bytes);
  return reduce<std::int64_t>(work, stream, scratch, bytes);
}

}  // namespace quarry
