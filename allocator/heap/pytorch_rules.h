// Sizes of the pytorch policy: how a request is rounded, which class it belongs to, how big a segment it asks for.
// Source: reference/pytorch_allocator.md section 2, corrected by conformance/FINDINGS.md 3 and 6.
#pragma once

#include <bit>

#include <quarry/allocator/options.h>
#include <quarry/allocator/types.h>

namespace quarry {

using namespace literals;

inline constexpr Bytes kMinBlock = 512_B;
inline constexpr Bytes kSmallLimit = 1_MiB;  // rounded sizes up to here are small
inline constexpr Bytes kSmallSegment = 2_MiB;
inline constexpr Bytes kMinLargeSegment = 10_MiB;  // from here the segment follows the request
inline constexpr Bytes kSegmentRounding = 2_MiB;
inline constexpr Bytes kKeptLeftover = 1_MiB;  // a large block keeps a leftover up to this
// Above this rounding could leave 64 bits.
inline constexpr Bytes kLargestRequest{1ull << 63};
// The path of tensors refuses this much at once, without asking the driver.
inline constexpr Bytes kSanityCap{1ull << 60};

static_assert(std::has_single_bit(kMinBlock.count) && std::has_single_bit(kSegmentRounding.count));

// n + step - 1 must fit; step is a power of two.
constexpr Bytes round_up(Bytes n, Bytes step) { return {(n.count + step.count - 1) & ~(step.count - 1)}; }

// The next of `divisions` equal steps inside the power-of-two interval of `n`; a power of two stays. divisions is a
// power of two, n > 512 x divisions.
constexpr Bytes round_to_division(Bytes n, std::uint32_t divisions) {
  if (std::has_single_bit(n.count)) return n;
  return round_up(n, {std::bit_floor(n.count) / divisions});
}

// 1 MiB..2 MiB and everything below is interval 0; 32 GiB and everything above is interval 15.
constexpr std::size_t roundup_interval(Bytes n) {
  const auto exponent = static_cast<std::size_t>(std::bit_width(n.count)) - 1;
  return exponent <= 20 ? 0 : exponent >= 35 ? 15 : exponent - 20;
}

// 0 < n <= kLargestRequest.
constexpr Bytes round_size(Bytes n, const Options& options) {
  if (n < kMinBlock) return kMinBlock;
  const std::uint32_t divisions = options.roundup_power2_divisions[roundup_interval(n)];
  if (divisions > 1 && n > kMinBlock * divisions) return round_to_division(n, divisions);
  return round_up(n, kMinBlock);
}

constexpr SizeClass size_class_of(Bytes rounded) {
  return rounded <= kSmallLimit ? SizeClass::small : SizeClass::large;
}

constexpr Bytes segment_size_for(Bytes rounded, const Options& options) {
  if (rounded <= kSmallLimit) return kSmallSegment;
  if (rounded < kMinLargeSegment) return options.large_segment_size;
  return round_up(rounded, kSegmentRounding);
}

// Is the tail cut off when `block` serves `size`? Judged by the class of the block's segment. `expandable` is the
// option at the moment of the request, not the kind of the block (findings S1).
constexpr bool should_split(Bytes block, Bytes size, SizeClass size_class, bool expandable, const Options& options) {
  const Bytes rest = block - size;
  if (size_class == SizeClass::small || expandable) return rest >= kMinBlock;
  return size < options.max_split_size && rest > kKeptLeftover;
}

}  // namespace quarry
