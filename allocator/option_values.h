// How the values of the option table are read and shown. Internal to the option table.
//
// A parse function says only which rule the value breaks ("must be True or False"); parse_options adds key and value.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include <quarry/allocator/option_text.h>
#include <quarry/allocator/options.h>

namespace quarry::option_values {

inline Error invalid(std::string rule) { return {ErrorCode::invalid, std::move(rule)}; }
inline Error unsupported(std::string rule) { return {ErrorCode::unsupported, std::move(rule)}; }

// A size in MiB: `least` or more, or the word that stands for `word_value`.
enum class Word : std::uint8_t { none, unlimited, off, automatic };
struct SizeRule {
  Bytes Options::*field;
  std::uint64_t least;
  Word word = Word::none;
  Bytes word_value;
};
Status parse_size(const SizeRule& rule, std::string_view value, Options& into);
std::string show_size(const SizeRule& rule, const Options& from);

template <SizeRule rule>
Status parse_size(std::string_view value, Options& into) {
  return parse_size(rule, value, into);
}
template <SizeRule rule>
std::string show_size(const Options& from) {
  return show_size(rule, from);
}

// Exactly True or False.
Result<bool> parse_flag(std::string_view value);
std::string show_flag(bool value);

template <bool Options::*field>
Status parse_flag(std::string_view value, Options& into) {
  const Result<bool> flag = parse_flag(value);
  if (!flag) return flag.error();
  into.*field = *flag;
  return Done{};
}
template <bool Options::*field>
std::string show_flag(const Options& from) {
  return show_flag(from.*field);
}

Status parse_fraction(std::string_view value, Options& into);
Status parse_gc_threshold(std::string_view value, Options& into);
std::string show_gc_threshold(const Options& from);
Status parse_register_threads(std::string_view value, Options& into);

// One power of two for all intervals, or a list by interval.
Status parse_roundup(std::string_view value, Options& into);
std::string show_roundup(const Options& from);

}  // namespace quarry::option_values
