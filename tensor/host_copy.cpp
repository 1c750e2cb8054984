#include <array>
#include <cstring>

#include <quarry/tensor/elements.h>
#include <quarry/tensor/host_kernels.h>
#include <quarry/tensor/host_loop.h>

namespace quarry {

void run_on_host(const Work& work) {
  if (work.op <= Op::fill) return copy_on_host(work);
  if (work.op < Op::sum) return elementwise_on_host(work);
  reduce_on_host(work);
}

namespace {

// Elements of Size bytes, whatever they are.
template <std::size_t Size>
void move_elements(const Work& work) {
  using Bits = std::array<std::byte, Size>;
  auto* const out = static_cast<Bits*>(work.out.data);
  const auto* const in = static_cast<const Bits*>(work.in[0].data);
  for_each_row<2>(work.sizes, {&work.out.strides, &work.in[0].strides},
                  [&](const auto& at, const auto& step, std::int64_t length) {
                    Bits* to = out + at[0];
                    const Bits* from = in + at[1];
                    if (step[0] == 1 && step[1] == 1) {
                      std::memcpy(to, from, static_cast<std::size_t>(length) * Size);
                      return;
                    }
                    for (std::int64_t i = 0; i < length; ++i) to[i * step[0]] = from[i * step[1]];
                  });
}

template <class To, class From>
void cast_elements(const Work& work) {
  auto* const out = static_cast<To*>(work.out.data);
  const auto* const in = static_cast<const From*>(work.in[0].data);
  for_each_row<2>(work.sizes, {&work.out.strides, &work.in[0].strides},
                  [&](const auto& at, const auto& step, std::int64_t length) {
                    To* to = out + at[0];
                    const From* from = in + at[1];
                    for (std::int64_t i = 0; i < length; ++i) to[i * step[0]] = convert<To>(from[i * step[1]]);
                  });
}

void move_by_size(const Work& work) {
  switch (element_size(work.out.dtype)) {
    case 1:
      return move_elements<1>(work);
    case 2:
      return move_elements<2>(work);
    case 4:
      return move_elements<4>(work);
    case 8:
      return move_elements<8>(work);
    default:
      return move_elements<16>(work);
  }
}

}  // namespace

void copy_on_host(const Work& work) {
  if (work.op == Op::fill) {  // a copy from one element that does not move on
    Work copy = work;
    copy.in[0] = {copy.value.bytes.data(), work.out.dtype, Dims::of(work.sizes.size(), 0)};
    return move_by_size(copy);
  }
  if (work.out.dtype == work.in[0].dtype) return move_by_size(work);
  with_number(work.out.dtype, [&](auto to) {
    with_number(work.in[0].dtype,
                [&](auto from) { cast_elements<typename decltype(to)::Type, typename decltype(from)::Type>(work); });
  });
}

}  // namespace quarry
