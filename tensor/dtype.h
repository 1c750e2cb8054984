// The types of a tensor's elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <quarry/tensor/half.h>

namespace quarry {

// The complex and 8-bit floating types have sizes and can be copied; no arithmetic, no casts.
enum class DType : std::uint8_t {
  boolean,
  u8,
  i8,
  i16,
  i32,
  i64,
  f16,
  bf16,
  f32,
  f64,
  complex64,  // two f32
  complex128,
  f8_e4m3,  // the variant without infinities
  f8_e5m2
};
inline constexpr std::size_t kDTypes = 14;

std::string_view name(DType dtype);
std::size_t element_size(DType dtype);  // bytes

constexpr bool is_floating(DType dtype) { return dtype >= DType::f16 && dtype <= DType::f64; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::u8 && dtype <= DType::i64; }
// Whether elements can be computed with and cast; the others are only moved.
constexpr bool is_number(DType dtype) { return dtype <= DType::f64; }

// The type of one element in C++.
template <class T>
struct TypeTag {
  using Type = T;
};

// Calls `f` with the TypeTag of `dtype`, one of the ten types that are numbers.
template <class F>
constexpr auto with_number(DType dtype, F f) {
  switch (dtype) {
    case DType::boolean:
      return f(TypeTag<bool>{});
    case DType::u8:
      return f(TypeTag<std::uint8_t>{});
    case DType::i8:
      return f(TypeTag<std::int8_t>{});
    case DType::i16:
      return f(TypeTag<std::int16_t>{});
    case DType::i32:
      return f(TypeTag<std::int32_t>{});
    case DType::i64:
      return f(TypeTag<std::int64_t>{});
    case DType::f16:
      return f(TypeTag<F16>{});
    case DType::bf16:
      return f(TypeTag<BF16>{});
    case DType::f64:
      return f(TypeTag<double>{});
    default:
      return f(TypeTag<float>{});
  }
}

// The dtype of a C++ type; does not compile for a type that is no element.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::i16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, F16>) return DType::f16;
  if constexpr (std::is_same_v<T, BF16>) return DType::bf16;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
}

}  // namespace quarry
