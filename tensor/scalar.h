// One number of the host, exact as an integer or as a double.
#pragma once

#include <concepts>
#include <cstdint>

namespace quarry {

struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
  bool is_integer = true;

  constexpr Scalar() = default;
  constexpr Scalar(std::floating_point auto value) : real(static_cast<double>(value)), is_integer(false) {}
  // u64 values from 2^63 on wrap.
  constexpr Scalar(std::integral auto value)
      : real(static_cast<double>(value)), integer(static_cast<std::int64_t>(value)) {}
};

}  // namespace quarry
