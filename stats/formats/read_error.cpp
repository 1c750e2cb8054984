#include <quarry/stats/formats/read_error.h>

#include <fmt/format.h>

namespace quarry::stats::formats {

std::string printable(std::string_view text, std::size_t limit) {
  std::string clean;
  for (std::size_t i = 0; i < text.size() && clean.size() < limit; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) continue;
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) {  // U+0080 to U+009F: control characters of two bytes
      ++i;
      continue;
    }
    clean.push_back(text[i]);
  }
  if (clean.size() == limit) clean += "...";
  return clean;
}

Error read_error(std::string_view path, const Failure& failure) {
  return {ErrorCode::invalid,
          fmt::format("{}: at byte {}: {}", printable(path, 4096), failure.offset, printable(failure.rule, 1024))};
}

}  // namespace quarry::stats::formats
