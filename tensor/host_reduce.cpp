#include <algorithm>
#include <array>
#include <cstdint>

#include <quarry/tensor/elements.h>
#include <quarry/tensor/host_kernels.h>
#include <quarry/tensor/host_loop.h>

namespace quarry {

namespace {

// The sizes and strides of the kept dimensions, or of the reduced ones.
Dims part(const Dims& dims, std::size_t begin, std::size_t end) {
  Dims result;
  for (std::size_t i = begin; i < end; ++i) result.push_back(dims[i]);
  return result;
}

// One element of `out` for each of the kept dimensions: `reduce` is called with the first element of its input.
template <class To, class T, class Reduce>
void for_each_kept(const Work& work, Reduce reduce) {
  const std::size_t kept = work.sizes.size() - work.reduced;
  const Dims out_strides = part(work.out.strides, 0, kept);
  const Dims in_strides = part(work.in[0].strides, 0, kept);
  auto* const out = static_cast<To*>(work.out.data);
  const auto* const in = static_cast<const T*>(work.in[0].data);
  for_each_row<2>(part(work.sizes, 0, kept), {&out_strides, &in_strides},
                  [&](const auto& at, const auto& step, std::int64_t length) {
                    for (std::int64_t i = 0; i < length; ++i) {
                      out[at[0] + i * step[0]] = reduce(in + at[1] + i * step[1]);
                    }
                  });
}

// Folds the reduced dimensions into `start` by `f`.
template <class Total, class T, class F>
Total fold(const Work& work, const T* first, Total start, F f) {
  const std::size_t kept = work.sizes.size() - work.reduced;
  const Dims strides = part(work.in[0].strides, kept, work.sizes.size());
  for_each_row<1>(part(work.sizes, kept, work.sizes.size()), {&strides},
                  [&](const auto& at, const auto& step, std::int64_t length) {
                    const T* from = first + at[0];
                    for (std::int64_t i = 0; i < length; ++i) start = f(start, convert<Total>(from[i * step[0]]));
                  });
  return start;
}

template <class T>
void add_up(const Work& work) {
  using Total = SumType<T>;
  using To = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  std::int64_t count = 1;
  for (std::size_t i = work.sizes.size() - work.reduced; i < work.sizes.size(); ++i) count *= work.sizes[i];
  for_each_kept<To, T>(work, [&](const T* first) {
    Total total = fold(work, first, Total{}, AddElements{});
    if constexpr (!std::is_integral_v<T>) {
      if (work.op == Op::mean) total /= static_cast<Total>(count);
    }
    return convert<To>(total);
  });
}

// There is at least one element; taking the first one twice changes nothing.
template <class T, class F>
void choose(const Work& work, F f) {
  using C = ComputeType<T>;
  for_each_kept<T, T>(work, [&](const T* first) { return convert<T>(fold(work, first, convert<C>(*first), f)); });
}

// Rows of b are added up, so that the inner loop runs along them; each output row is kept in Total until it is done.
template <class T>
void multiply(const Work& work) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::int64_t rows = work.sizes[0];
  const std::int64_t columns = work.sizes[1];
  const Operand& out = work.out;
  const auto& [a, b] = work.in;
  std::int64_t column = 0;
  constexpr std::int64_t kBlock = 256;
  std::array<C, kBlock> totals;
  for (; column < columns; column += kBlock) {
    const std::int64_t width = std::min(kBlock, columns - column);
    for (std::int64_t row = 0; row < rows; ++row) {
      totals.fill(C{});
      for (std::int64_t k = 0; k < work.sizes[2]; ++k) {
        const C factor = convert<C>(static_cast<const T*>(a.data)[row * a.strides[0] + k * a.strides[2]]);
        const T* const other = static_cast<const T*>(b.data) + k * b.strides[2] + column * b.strides[1];
        for (std::int64_t i = 0; i < width; ++i) {
          totals[static_cast<std::size_t>(i)] += factor * convert<C>(other[i * b.strides[1]]);
        }
      }
      T* const to = static_cast<T*>(out.data) + row * out.strides[0] + column * out.strides[1];
      for (std::int64_t i = 0; i < width; ++i) to[i * out.strides[1]] = convert<T>(totals[static_cast<std::size_t>(i)]);
    }
  }
}

template <class T>
void reduce(const Work& work) {
  switch (work.op) {
    case Op::min:
      return choose<T>(work, MinElements{});
    case Op::max:
      return choose<T>(work, MaxElements{});
    case Op::matmul:
      return multiply<T>(work);
    default:
      return add_up<T>(work);
  }
}

}  // namespace

void reduce_on_host(const Work& work) {
  with_number(work.in[0].dtype, [&](auto tag) { reduce<typename decltype(tag)::Type>(work); });
}

}  // namespace quarry
