// Sizes and shapes as the texts of the demonstrations write them.
#pragma once

#include <string>

#include <fmt/format.h>
#include <quarry/stats/summary.h>
#include <quarry/tensor/shape.h>

namespace quarry::tools {

// "400,000,000 B (381.47 MiB)": exact, and as a size one can picture.
inline std::string exact_and_round(Bytes bytes) {
  const std::string exact = stats::format_bytes(bytes, stats::Units::bytes);
  constexpr Bytes kSmall{10'000};
  return bytes < kSmall ? exact : fmt::format("{} ({})", exact, stats::format_bytes(bytes));
}

// "10 x 10"
inline std::string product_text(const Dims& dims) {
  std::string text;
  for (const std::int64_t size : dims) text += (text.empty() ? "" : " x ") + fmt::format("{}", size);
  return text;
}

}  // namespace quarry::tools
