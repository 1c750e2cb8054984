// 16-bit floating types: storage only, arithmetic is done in float. For host and device code.
#pragma once

#include <bit>
#include <cstdint>

// What host code and kernels.cu share.
#if defined(__CUDACC__)
#define QUARRY_BOTH __host__ __device__
#else
#define QUARRY_BOTH
#endif

namespace quarry {

// IEEE half: 5 bits of exponent, 10 of mantissa.
struct F16 {
  std::uint16_t bits = 0;
  static constexpr int kExponent = 5;
  static constexpr int kMantissa = 10;
  friend bool operator==(const F16&, const F16&) = default;  // of the bits
};

// The upper half of a float: 8 bits of exponent, 7 of mantissa.
struct BF16 {
  std::uint16_t bits = 0;
  static constexpr int kExponent = 8;
  static constexpr int kMantissa = 7;
  friend bool operator==(const BF16&, const BF16&) = default;  // of the bits
};

// Rounds to nearest, ties to even, in one step; too large becomes infinite, NaN stays NaN (quiet, same sign).
template <class Half>
QUARRY_BOTH constexpr Half narrow(double value) {
  constexpr int kMost = (1 << Half::kExponent) - 1;  // exponent of infinity and NaN
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  const auto special = static_cast<std::uint16_t>(kMost << Half::kMantissa | sign);
  if (exponent == 0x7ff) {
    if (mantissa == 0) return {special};
    const std::uint64_t payload = mantissa >> (52 - Half::kMantissa) | (1u << (Half::kMantissa - 1));
    return {static_cast<std::uint16_t>(special | payload)};
  }
  int target = exponent - 1023 + (kMost >> 1);
  int dropped = 52 - Half::kMantissa;
  if (target < 1) {  // subnormal in the narrow type
    dropped += 1 - target;
    target = 1;
  }
  if (exponent == 0 || dropped > 53) return {sign};
  const std::uint64_t full = mantissa | std::uint64_t{1} << 52;
  const std::uint64_t rest = full & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t tie = std::uint64_t{1} << (dropped - 1);
  std::uint64_t kept = full >> dropped;
  if (rest > tie || (rest == tie && (kept & 1) != 0)) ++kept;
  // The leading one of a normal number adds 1 to the exponent, and so does a carry out of the mantissa.
  const std::uint64_t result = (static_cast<std::uint64_t>(target - 1) << Half::kMantissa) + kept;
  if (result >> Half::kMantissa >= static_cast<std::uint64_t>(kMost)) return {special};
  return {static_cast<std::uint16_t>(result | sign)};
}

QUARRY_BOTH constexpr float widen(BF16 half) { return std::bit_cast<float>(std::uint32_t{half.bits} << 16); }

QUARRY_BOTH constexpr float widen(F16 half) {
  const std::uint32_t sign = std::uint32_t{half.bits} >> 15 << 31;
  const std::uint32_t exponent = half.bits >> 10 & 0x1f;
  const std::uint32_t mantissa = half.bits & 0x3ff;
  if (exponent == 0) {  // mantissa x 2^-24, exact in float
    const float size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

}  // namespace quarry
