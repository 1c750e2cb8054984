// One operation as plain data: what is queued on a stream, and done by C++ code or by a kernel.
//
// The shape of all of them: a loop over `sizes`; operand k's element lies at data + index . strides, counted in
// elements. Broadcasting is a stride of 0. The last `reduced` dimensions are summed (or the like) into one element of
// `out`, whose strides are 0 there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <quarry/allocator/types.h>
#include <quarry/tensor/dtype.h>
#include <quarry/tensor/layout.h>
#include <quarry/tensor/scalar.h>

namespace quarry {

enum class Op : std::uint8_t {
  copy,      // out = in[0]; casts where the dtypes differ
  transfer,  // the same for dense operands of one dtype, between a device and the host
  fill,      // out = value
  add,       // of in[0] and in[1], all of one dtype; and so on
  sub,
  mul,
  div,
  equal,  // into bool
  sqrt,
  relu,
  arange,  // out[i] = range[0] + i * range[1]
  random,  // out[i] = number i of the sequence of `seed`, in [0, 1)
  sum,     // integers and bool into i64
  mean,
  min,
  max,
  matmul  // sizes (m, n, k), k reduced
};
const char* name(Op op);

// The bytes of one element, the first element_size(dtype) of them.
struct alignas(16) Element {
  std::array<std::byte, 16> bytes{};
};
// `value` as an element: rounded to nearest; integers saturate; bool is whether it is not 0; complex gets no imaginary
// part; the 8-bit floating types can only be 0 (CHECK).
Element element_of(Scalar value, DType dtype);

// A null `data` of in[1] stands for `value`, whatever the index.
struct Operand {
  void* data = nullptr;  // element 0
  DType dtype = DType::f32;
  Dims strides;
  bool seen_by_device = true;  // false: pageable memory, unknown to a device
};

struct Work {
  Op op = Op::copy;
  Dims sizes;
  std::size_t reduced = 0;
  Operand out;
  std::array<Operand, 2> in;
  std::size_t inputs = 0;  // how many of `in` count
  Element value;
  std::array<Scalar, 2> range;
  std::uint64_t seed = 0;
};

// The bytes between the first and the last that `operand` reaches.
struct ByteSpan {
  Address begin;
  Bytes size;
};
ByteSpan span_of(const Work& work, const Operand& operand);

// Does it now, on memory this process can reach. No allocation, no lock: safe inside the simulated device.
void run_on_host(const Work& work);

}  // namespace quarry
