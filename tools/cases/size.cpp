// Sizes with units: exact, no floating point.
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tools/cases/operation.h"
#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

constexpr std::size_t kMaxDecimals = 9;

// Strips a unit off the end and returns its power of two; 0 for plain bytes.
unsigned take_unit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    unsigned shift;
  };
  for (const Unit unit : {Unit{"KiB", 10}, Unit{"MiB", 20}, Unit{"GiB", 30}}) {
    if (text.ends_with(unit.name)) {
      text.remove_suffix(unit.name.size());
      return unit.shift;
    }
  }
  return 0;
}

// whole.decimals << shift, if that is a whole number of bytes below 2^64.
std::optional<std::uint64_t> scale(std::uint64_t whole, std::string_view decimals, unsigned shift) {
  std::uint64_t scaled_decimals = 0;
  if (!decimals.empty()) {
    const auto part = parse_unsigned(decimals);
    if (!part || decimals.size() > kMaxDecimals) return std::nullopt;
    std::uint64_t divisor = 1;
    for (std::size_t i = 0; i < decimals.size(); ++i) divisor *= 10;
    const std::uint64_t product = *part << shift;  // below 10^9 * 2^30 < 2^60
    if (product % divisor != 0) return std::nullopt;
    scaled_decimals = product / divisor;
  }
  if (whole > (UINT64_MAX >> shift)) return std::nullopt;
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(whole << shift, scaled_decimals, &sum)) return std::nullopt;
  return sum;
}

}  // namespace

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Bytes> parse_size(std::string_view text) {
  std::string_view number = text;
  const unsigned shift = take_unit(number);
  const std::size_t dot = number.find('.');
  const bool decimals_fit = dot == std::string_view::npos || (shift != 0 && dot + 1 < number.size());
  const auto whole = parse_unsigned(number.substr(0, dot));
  if (whole && decimals_fit) {
    const auto bytes = scale(*whole, dot == std::string_view::npos ? "" : number.substr(dot + 1), shift);
    if (bytes) return Bytes{*bytes};
  }
  return invalid(
      fmt::format("{} is not a size (bytes, or a number with KiB, MiB or GiB that gives whole bytes)", quoted(text)));
}

}  // namespace quarry::tools
