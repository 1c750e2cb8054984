// roundup_power2_divisions: the only option that is a list.
#include <algorithm>
#include <bit>
#include <optional>

#include <quarry/allocator/option_values.h>

namespace quarry::option_values {

namespace {

constexpr std::size_t kIntervals = std::tuple_size_v<RoundupDivisions>;
constexpr std::size_t kLast = kIntervals - 1;

// A number of divisions that is a power of two of 32 bits.
std::optional<std::uint32_t> divisions_of(std::string_view text) {
  const std::optional<std::uint64_t> n = option_text::whole_number(text);
  if (!n || !std::has_single_bit(*n) || *n > std::uint32_t{1} << 31) return std::nullopt;
  return static_cast<std::uint32_t>(*n);
}

std::optional<std::uint32_t> divisions_or_zero(std::string_view text) {
  return option_text::whole_number(text) == 0 ? std::optional<std::uint32_t>(0) : divisions_of(text);
}

// The interval that begins at this number of MiB; whatever lies above the last one counts as the last.
std::optional<std::size_t> interval_of(std::string_view text) {
  const std::optional<std::uint64_t> mib = option_text::whole_number(text);
  if (!mib || !std::has_single_bit(*mib)) return std::nullopt;
  return std::min(static_cast<std::size_t>(std::countr_zero(*mib)), kLast);
}

// The first key also fills all intervals below it, intervals between keys stay 0, `>` fills all above the key before
// it (above the first interval where no key came before).
Result<RoundupDivisions> from_list(const std::vector<option_text::Entry>& entries) {
  RoundupDivisions divisions{};
  std::optional<std::size_t> previous;
  for (const auto& [key, value] : entries) {
    const std::optional<std::uint32_t> n = divisions_or_zero(value);
    if (!n) return invalid("the divisions of " + option_text::quoted(key) + " must be a power of two or 0");
    if (key == ">") {
      std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(previous.value_or(0) + 1), divisions.end(), *n);
      continue;
    }
    const std::optional<std::size_t> interval = interval_of(key);
    if (!interval) return invalid("the interval " + option_text::quoted(key) + " must be a power of two of MiB or >");
    if (!previous) std::fill_n(divisions.begin(), *interval, *n);
    divisions[*interval] = *n;
    previous = interval;
  }
  return divisions;
}

std::string entry(std::size_t interval, std::uint32_t divisions) {
  return std::to_string(std::uint64_t{1} << interval) + ":" + std::to_string(divisions);
}

}  // namespace

Status parse_roundup(std::string_view value, Options& into) {
  if (value.front() != '[') {
    const std::optional<std::uint32_t> n = divisions_of(value);
    if (!n) return invalid("must be a power of two, or a list like [256:1,512:2,>:4]");
    into.roundup_power2_divisions.fill(*n);
    return Done{};
  }
  const auto entries = option_text::list_entries(value);
  if (!entries) return invalid("must be a list like [256:1,512:2,>:4], not empty and closed by ]");
  const Result<RoundupDivisions> divisions = from_list(*entries);
  if (!divisions) return divisions.error();
  into.roundup_power2_divisions = *divisions;
  return Done{};
}

std::string show_roundup(const Options& from) {
  const RoundupDivisions& all = from.roundup_power2_divisions;
  const auto differs = std::find_if(all.begin(), all.end(), [&](std::uint32_t n) { return n != all[0]; });
  if (differs == all.end() && all[0] != 0) return std::to_string(all[0]);
  // The first key speaks for all that equal it from the bottom up; zeros need no key after it.
  const std::size_t first = all[0] == 0 ? 0 : static_cast<std::size_t>(differs - all.begin()) - 1;
  std::string text = "[" + entry(first, all[0]);
  for (std::size_t i = first + 1; i < kIntervals; ++i) {
    if (all[i] != 0) text += "," + entry(i, all[i]);
  }
  return text + "]";
}

}  // namespace quarry::option_values
