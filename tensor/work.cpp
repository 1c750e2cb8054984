#include <quarry/tensor/work.h>

#include <cstring>

#include <quarry/allocator/check.h>
#include <quarry/tensor/elements.h>

namespace quarry {

const char* name(Op op) {
  constexpr std::array<const char*, 17> kNames = {"copy", "transfer", "fill", "add",  "sub",    "mul",
                                                  "div",  "equal",    "sqrt", "relu", "arange", "rand",
                                                  "sum",  "mean",     "min",  "max",  "matmul"};
  return kNames.at(static_cast<std::size_t>(op));
}

namespace {

template <class T>
T element_from(Scalar value) {
  if (!value.is_integer) return convert<T>(value.real);
  if constexpr (!std::is_same_v<T, bool> && std::is_integral_v<T>) {
    if (value.integer < 0 && std::is_unsigned_v<T>) return 0;
    if (value.integer > std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
    if (value.integer < std::numeric_limits<T>::min()) return std::numeric_limits<T>::min();
  }
  return convert<T>(value.integer);
}

template <class T>
Element bytes_of(T value) {
  Element result;
  std::memcpy(result.bytes.data(), &value, sizeof(value));
  return result;
}

}  // namespace

Element element_of(Scalar value, DType dtype) {
  if (dtype == DType::complex64) return bytes_of(element_from<float>(value));
  if (dtype == DType::complex128) return bytes_of(element_from<double>(value));
  if (!is_number(dtype)) {
    QUARRY_CHECK(value.real == 0, "an 8-bit floating tensor can only be filled with 0");
    return {};
  }
  return with_number(dtype, [&](auto tag) { return bytes_of(element_from<typename decltype(tag)::Type>(value)); });
}

ByteSpan span_of(const Work& work, const Operand& operand) {
  const Reach span = reach({work.sizes, operand.strides, 0});
  const auto size = static_cast<std::int64_t>(element_size(operand.dtype));
  const Address base{reinterpret_cast<std::uint64_t>(operand.data)};
  return {{base.value + static_cast<std::uint64_t>(span.begin * size)},
          {static_cast<std::uint64_t>((span.end - span.begin) * size)}};
}

}  // namespace quarry
