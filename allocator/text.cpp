#include <quarry/allocator/text.h>

#include <array>
#include <cstdio>

namespace quarry {

std::string to_text(Bytes bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes.count);
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 48> text{};
  if (unit == 0) {
    std::snprintf(text.data(), text.size(), "%llu B", static_cast<unsigned long long>(bytes.count));
  } else {
    std::snprintf(text.data(), text.size(), "%.2f %s", value, kUnits[unit]);
  }
  return text.data();
}

}  // namespace quarry
