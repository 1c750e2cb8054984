#include <cstring>

#include <quarry/tensor/elements.h>
#include <quarry/tensor/host_kernels.h>
#include <quarry/tensor/host_loop.h>

namespace quarry {

namespace {

template <class To, class T, class F>
void binary(const Work& work, F f) {
  using C = ComputeType<T>;
  T constant{};
  std::memcpy(&constant, work.value.bytes.data(), sizeof(T));
  const bool has_constant = work.in[1].data == nullptr;
  const Dims still = Dims::of(work.sizes.size(), 0);
  auto* const out = static_cast<To*>(work.out.data);
  const auto* const a = static_cast<const T*>(work.in[0].data);
  const auto* const b = has_constant ? &constant : static_cast<const T*>(work.in[1].data);
  for_each_row<3>(work.sizes, {&work.out.strides, &work.in[0].strides, has_constant ? &still : &work.in[1].strides},
                  [&](const auto& at, const auto& step, std::int64_t length) {
                    To* to = out + at[0];
                    const T* left = a + at[1];
                    const T* right = b + at[2];
                    for (std::int64_t i = 0; i < length; ++i) {
                      to[i * step[0]] = convert<To>(f(convert<C>(left[i * step[1]]), convert<C>(right[i * step[2]])));
                    }
                  });
}

template <class T, class F>
void unary(const Work& work, F f) {
  using C = ComputeType<T>;
  auto* const out = static_cast<T*>(work.out.data);
  const auto* const in = static_cast<const T*>(work.in[0].data);
  for_each_row<2>(work.sizes, {&work.out.strides, &work.in[0].strides},
                  [&](const auto& at, const auto& step, std::int64_t length) {
                    T* to = out + at[0];
                    const T* from = in + at[1];
                    for (std::int64_t i = 0; i < length; ++i) {
                      to[i * step[0]] = convert<T>(f(convert<C>(from[i * step[1]])));
                    }
                  });
}

// `f(index)`, the index counting in the order of the elements.
template <class T, class F>
void generate(const Work& work, F f) {
  auto* const out = static_cast<T*>(work.out.data);
  std::int64_t index = 0;
  for_each_row<1>(work.sizes, {&work.out.strides}, [&](const auto& at, const auto& step, std::int64_t length) {
    T* to = out + at[0];
    for (std::int64_t i = 0; i < length; ++i) to[i * step[0]] = f(index++);
  });
}

template <class T>
void elementwise(const Work& work) {
  switch (work.op) {
    case Op::add:
      return binary<T, T>(work, AddElements{});
    case Op::sub:
      return binary<T, T>(work, SubElements{});
    case Op::mul:
      return binary<T, T>(work, MulElements{});
    case Op::div:
      return binary<T, T>(work, DivElements{});
    case Op::equal:
      return binary<bool, T>(work, EqualElements{});
    case Op::sqrt:
      return unary<T>(work, SqrtElement{});
    case Op::relu:
      return unary<T>(work, ReluElement{});
    case Op::arange:
      return generate<T>(work, [&](std::int64_t i) {
        const auto& [start, step] = work.range;
        return arange_element<T>(start.real, step.real, start.integer, step.integer, i);
      });
    default:
      return generate<T>(work,
                         [&](std::int64_t i) { return random_element<T>(work.seed, static_cast<std::uint64_t>(i)); });
  }
}

}  // namespace

void elementwise_on_host(const Work& work) {
  const DType dtype = work.inputs > 0 ? work.in[0].dtype : work.out.dtype;
  with_number(dtype, [&](auto tag) { elementwise<typename decltype(tag)::Type>(work); });
}

}  // namespace quarry
