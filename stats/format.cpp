#include <array>
#include <string_view>

#include <fmt/format.h>
#include <quarry/stats/summary.h>

namespace quarry::stats {
namespace {

struct Scale {
  double size;
  std::string_view unit;
};
constexpr std::array<Scale, 6> kBinary = {
    {{1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"}}};

Scale scale_for(double bytes, Units units) {
  switch (units) {
    case Units::mib:
      return kBinary[2];
    case Units::gib:
      return kBinary[3];
    case Units::mb:
      return {1e6, "MB"};
    case Units::gb:
      return {1e9, "GB"};
    case Units::bytes:
      return kBinary[0];
    case Units::automatic:
      break;
  }
  std::size_t step = 0;
  while (step + 1 < kBinary.size() && bytes >= kBinary[step + 1].size) ++step;
  return kBinary[step];
}

}  // namespace

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string format_bytes(Bytes bytes, Units units) {
  if (bytes == kUnlimited) return "unlimited";
  const auto value = static_cast<double>(bytes.count);
  const Scale scale = scale_for(value, units);
  if (scale.size == 1) return format_count(static_cast<std::int64_t>(bytes.count)) + " B";
  return fmt::format("{:.2f} {}", value / scale.size, scale.unit);
}

}  // namespace quarry::stats
