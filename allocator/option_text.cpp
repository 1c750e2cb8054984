#include <quarry/allocator/option_text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <system_error>
#include <utility>

namespace quarry::option_text {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
constexpr std::size_t kLongestQuote = 60;

bool printable(char c) { return c >= ' ' && c <= '~'; }

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  std::string shown(text.substr(0, kLongestQuote));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return !printable(c); }, '?');
  return "'" + shown + (cut ? "...'" : "'");
}

std::optional<std::uint64_t> whole_number(std::string_view text) { return number<std::uint64_t>(text); }

std::optional<double> real_number(std::string_view text) {
  const std::optional<double> value = number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string real_text(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trim(text).empty()) return parts;
  std::size_t start = 0;
  bool in_list = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') in_list = true;
    if (text[i] == ']') in_list = false;
    if (text[i] != ',' || in_list) continue;
    parts.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trim(text.substr(start)));
  return parts;
}

std::optional<Entry> split_entry(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const Entry entry{trim(text.substr(0, colon)), trim(text.substr(colon + 1))};
  if (entry.key.empty() || entry.value.empty()) return std::nullopt;
  return entry;
}

std::optional<std::vector<Entry>> list_entries(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<Entry> entries;
  for (const std::string_view part : split_at_commas(text.substr(1, text.size() - 2))) {
    const std::optional<Entry> entry = split_entry(part);
    if (!entry) return std::nullopt;
    entries.push_back(*entry);
  }
  if (entries.empty()) return std::nullopt;
  return entries;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace quarry::option_text
