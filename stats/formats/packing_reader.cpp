#include <quarry/stats/formats/packing_reader.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace quarry::stats::formats {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxColumns = 64;
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool to_number(std::string_view text, std::uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end && number < kLimit;
}

// Takes what stands before the next comma off `text`; after the last field nothing is left, not even an address.
std::string_view cut_field(std::string_view& text) {
  const std::size_t comma = text.find(',');
  const std::string_view field = text.substr(0, comma);
  text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
  return field;
}

}  // namespace

bool PackingReader::fail_at(std::uint64_t offset, std::string_view what) {
  return source_.failure().at(offset, fmt::format("row {} of a packing problem: {}", rows_, what));
}

bool PackingReader::next_line(Line& line) {
  std::size_t seen = 0;
  for (;;) {
    const void* const end = std::memchr(source_.cursor + seen, '\n', source_.available() - seen);
    if (end != nullptr) {
      seen = static_cast<std::size_t>(static_cast<const unsigned char*>(end) - source_.cursor);
      break;
    }
    seen = source_.available();
    if (seen > kMaxLine || !source_.ensure(seen + 1)) break;
  }
  if (source_.failed()) return false;
  if (seen > kMaxLine) {
    return source_.failure().at(source_.offset(), fmt::format("a line of more than {} bytes", kMaxLine));
  }
  line = {{reinterpret_cast<const char*>(source_.cursor), seen}, source_.offset()};
  const bool at_end = seen == source_.available();
  if (at_end && seen == 0) return false;
  source_.cursor += seen + (at_end ? 0 : 1);
  return true;
}

bool PackingReader::read_header() {
  Line line;
  do {
    if (!next_line(line)) return source_.failed() ? false : source_.failure().at(0, "holds no header of columns");
    if (line.text.starts_with("\xef\xbb\xbf")) line.text.remove_prefix(3);
  } while (trim(line.text).empty());
  std::array<bool, 4> seen{};
  for (std::string_view rest = line.text; rest.data() != nullptr;) {
    const std::string_view name = trim(cut_field(rest));
    constexpr std::array<std::string_view, 4> kNames = {"id", "lower", "upper", "size"};
    const auto known = static_cast<std::size_t>(std::ranges::find(kNames, name) - kNames.begin());
    if (known < seen.size() && std::exchange(seen[known], true)) {
      return source_.failure().at(line.offset, fmt::format("column {} stands there twice", name));
    }
    if (columns_.size() == kMaxColumns) return source_.failure().at(line.offset, "more than 64 columns");
    columns_.push_back(static_cast<Column>(known));
    if (known == seen.size()) problem_.skipped_columns.push_back(printable(name, 64));
  }
  numbered_ = seen[0];
  if (seen[1] && seen[2] && seen[3]) return true;
  return source_.failure().at(line.offset, "is no packing problem: columns lower, upper and size are needed");
}

bool PackingReader::take_field(std::string_view field, std::uint64_t offset, Column column, PackingBuffer& into) {
  const std::string_view text = trim(field);
  switch (column) {
    case Column::id:
      numbered_ = numbered_ && to_number(text, into.id);
      return true;
    case Column::lower:
      return to_number(text, into.lower) || fail_at(offset, "lower is not a whole number below 2^63");
    case Column::upper:
      return to_number(text, into.upper) || fail_at(offset, "upper is not a whole number below 2^63");
    case Column::size:
      return to_number(text, into.size.count) || fail_at(offset, "size is not a whole number below 2^63");
    case Column::other:
      return true;
  }
  return true;
}

bool PackingReader::read_row(const Line& line) {
  ++rows_;
  PackingBuffer buffer;
  std::string_view rest = line.text;
  for (const Column column : columns_) {
    if (rest.data() == nullptr) return fail_at(line.offset, "has fewer columns than the header");
    const std::uint64_t offset = line.offset + static_cast<std::uint64_t>(rest.data() - line.text.data());
    if (!take_field(cut_field(rest), offset, column, buffer)) return false;
  }
  if (rest.data() != nullptr) return fail_at(line.offset, "has more columns than the header");
  if (buffer.upper <= buffer.lower) return fail_at(line.offset, "upper is not above lower");
  if (buffer.size == Bytes{}) {
    ++problem_.empty;
    return true;
  }
  if (buffer.size.count >= kLimit - total_) return fail_at(line.offset, "the sizes so far reach 2^63 bytes");
  total_ += buffer.size.count;
  if (problem_.buffers.size() == kMaxPackingBuffers) return fail_at(line.offset, "more than 2^20 buffers");
  problem_.buffers.push_back(buffer);
  return true;
}

void PackingReader::sort_by_id() {
  if (!numbered_) {
    std::uint64_t row = 0;
    for (PackingBuffer& buffer : problem_.buffers) buffer.id = row++;
  } else if (!std::ranges::is_sorted(problem_.buffers, {}, &PackingBuffer::id)) {
    std::ranges::stable_sort(problem_.buffers, {}, &PackingBuffer::id);
  }
}

bool PackingReader::read() {
  if (!read_header()) return false;
  for (Line line; next_line(line);) {
    if (!trim(line.text).empty() && !read_row(line)) return false;
  }
  if (source_.failed()) return false;
  sort_by_id();
  return true;
}

}  // namespace quarry::stats::formats
