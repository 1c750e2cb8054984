// What happens to single elements: the one definition for host code and for kernels.cu.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <quarry/tensor/half.h>

namespace quarry {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// The type arithmetic is done in: float for the halves.
template <class T>
using ComputeType = std::conditional_t<kIsHalf<T>, float, T>;

// A double that lies on the same side of every number with at most 52 bits as `value` does: what does not fit makes the
// last bit odd. Rounding it further down to a half then rounds once.
QUARRY_BOTH constexpr double to_odd_double(std::int64_t value) {
  std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::uint64_t lost = 0;
  double scale = 1;
  while (size >> 53 != 0) {
    lost |= size & 1;
    size >>= 1;
    scale *= 2;
  }
  const double result = static_cast<double>(size | lost) * scale;
  return value < 0 ? -result : result;
}

// Floating to integer: towards 0, saturating, NaN is 0.
template <class Integer>
QUARRY_BOTH constexpr Integer saturate(double value) {
  // Both bounds are powers of two (or 0), exact in double.
  constexpr auto kLow = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr double kAbove = static_cast<double>(std::numeric_limits<Integer>::max() / 2 + 1) * 2;
  if (!(value == value)) return 0;
  if (value <= kLow) return std::numeric_limits<Integer>::min();
  if (value >= kAbove) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

// Any of the ten element types (and double, int64) to any other. Integer to integer keeps the low bits.
template <class To, class From>
QUARRY_BOTH constexpr To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsHalf<From>) {
    return convert<To>(widen(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (kIsHalf<To>) {
    if constexpr (std::is_floating_point_v<From>) {
      return narrow<To>(static_cast<double>(value));
    } else {
      return narrow<To>(to_odd_double(static_cast<std::int64_t>(value)));
    }
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Arithmetic. Integers wrap around; unsigned 64-bit is wide enough for the product of any two.
struct AddElements {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>)
      return a + b;
    else
      return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct SubElements {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>)
      return a - b;
    else
      return static_cast<C>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
};
struct MulElements {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>)
      return a * b;
    else
      return static_cast<C>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
// Floating types only: the callers refuse the others.
struct DivElements {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>) return a / b;
    return a;
  }
};
struct SqrtElement {
  template <class C>
  QUARRY_BOTH C operator()(C a) const {
    if constexpr (std::is_floating_point_v<C>) return std::sqrt(a);
    return a;
  }
};
// NaN stays NaN.
struct ReluElement {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a) const {
    return a < C{} ? C{} : a;
  }
};
struct EqualElements {
  template <class C>
  QUARRY_BOTH constexpr bool operator()(C a, C b) const {
    return a == b;
  }
};

template <class C>
QUARRY_BOTH constexpr bool is_negative_zero(C value) {
  if constexpr (std::is_same_v<C, float>) return std::bit_cast<std::uint32_t>(value) == 1u << 31;
  if constexpr (std::is_same_v<C, double>) return std::bit_cast<std::uint64_t>(value) == std::uint64_t{1} << 63;
  return false;
}
// A NaN on either side wins, and -0 is below +0 (minimum and maximum of IEEE 754-2019): the result of many does not
// depend on their order.
struct MinElements {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a, C b) const {
    return a < b || a != a || (a == b && is_negative_zero(a)) ? a : b;
  }
};
struct MaxElements {
  template <class C>
  QUARRY_BOTH constexpr C operator()(C a, C b) const {
    return a > b || a != a || (a == b && is_negative_zero(b)) ? a : b;
  }
};

// The type sums are kept in: int64 and double hold more than the elements do.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

// Number `index` of the sequence of `seed`: 64 random bits, by the finaliser of the splitmix64 generator.
QUARRY_BOTH constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t bits = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  return bits ^ bits >> 31;
}

// Uniform in [0, 1): as many random bits as the type has in its mantissa, so that none rounds up to 1.
template <class T>
QUARRY_BOTH constexpr T random_element(std::uint64_t seed, std::uint64_t index) {
  int digits = 53;
  if constexpr (std::is_same_v<T, float>) digits = 24;
  if constexpr (kIsHalf<T>) digits = T::kMantissa + 1;
  const auto whole = static_cast<double>(random_bits(seed, index) >> (64 - digits));
  return convert<T>(whole / static_cast<double>(std::uint64_t{1} << digits));
}

// start + index * step, wrapping for integers.
template <class T>
QUARRY_BOTH constexpr T arange_element(double start, double step, std::int64_t whole_start, std::int64_t whole_step,
                                       std::int64_t index) {
  if constexpr (std::is_integral_v<T>) {
    return convert<T>(AddElements{}(whole_start, MulElements{}(whole_step, index)));
  } else {
    return convert<T>(start + static_cast<double>(index) * step);
  }
}

}  // namespace quarry
