#include <quarry/allocator/option_values.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace quarry::option_values {

namespace {

constexpr unsigned kMibShift = 20;
constexpr std::uint64_t kMostMib = std::numeric_limits<std::uint64_t>::max() >> kMibShift;

std::string_view text_of(Word word) {
  switch (word) {
    case Word::unlimited:
      return "unlimited";
    case Word::off:
      return "off";
    case Word::automatic:
      return "auto";
    case Word::none:
      break;
  }
  return "";
}

std::string or_word(Word word) { return word == Word::none ? "" : " or " + std::string(text_of(word)); }

}  // namespace

Status parse_size(const SizeRule& rule, std::string_view value, Options& into) {
  if (rule.word != Word::none && value == text_of(rule.word)) {
    into.*rule.field = rule.word_value;
    return Done{};
  }
  const std::optional<std::uint64_t> mib = option_text::whole_number(value);
  if (!mib) return invalid("must be a whole number of MiB below 2^64" + or_word(rule.word));
  if (*mib < rule.least) return invalid("must be >= " + std::to_string(rule.least) + " MiB" + or_word(rule.word));
  if (*mib > kMostMib) return invalid("must be < 2^44 MiB: in bytes it leaves 64 bits");
  into.*rule.field = Bytes{*mib << kMibShift};
  return Done{};
}

std::string show_size(const SizeRule& rule, const Options& from) {
  const Bytes size = from.*rule.field;
  if (rule.word != Word::none && size == rule.word_value) return std::string(text_of(rule.word));
  const std::uint64_t mib = size.count >> kMibShift;
  if (mib << kMibShift == size.count) return std::to_string(mib);
  return std::to_string(size.count) + " B";  // set through the API: no option string says this
}

Result<bool> parse_flag(std::string_view value) {
  if (value == "True") return true;
  if (value == "False") return false;
  return invalid("must be exactly True or False");
}

std::string show_flag(bool value) { return value ? "True" : "False"; }

Status parse_fraction(std::string_view value, Options& into) {
  const std::optional<double> fraction = option_text::real_number(value);
  if (!fraction || *fraction < 0.0 || *fraction > 1.0) return invalid("must be a number from 0 to 1");
  into.per_process_memory_fraction = *fraction;
  return Done{};
}

Status parse_gc_threshold(std::string_view value, Options& into) {
  if (value == "off") {
    into.garbage_collection_threshold = 0;
    return Done{};
  }
  const std::optional<double> threshold = option_text::real_number(value);
  if (!threshold || *threshold <= 0.0 || *threshold >= 1.0) {
    return invalid("must be a number above 0 and below 1, or off");
  }
  into.garbage_collection_threshold = *threshold;
  return Done{};
}

std::string show_gc_threshold(const Options& from) {
  const double threshold = from.garbage_collection_threshold;
  return threshold > 0 ? option_text::real_text(threshold) : "off";
}

Status parse_register_threads(std::string_view value, Options& into) {
  constexpr std::uint64_t kMost = 128;
  const std::optional<std::uint64_t> threads = option_text::whole_number(value);
  if (!threads || *threads > kMost || !std::has_single_bit(*threads)) {
    return invalid("must be a power of two from 1 to 128");
  }
  into.pinned_num_register_threads = static_cast<std::uint32_t>(*threads);
  return Done{};
}

}  // namespace quarry::option_values
