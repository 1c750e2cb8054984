#include <quarry/stats/formats/fields.h>

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace quarry::stats::formats {
namespace {

constexpr const char* kMissing = "is missing";
constexpr const char* kNoCount = "is not a whole number from 0 to 2^64-1";

}  // namespace

Value Values::word(Tag tag, std::uint64_t bits) {
  if (words.size() == 0 || words.back() != bits) words.push_back(bits);  // one value many times in a row is common
  return {tag, words.size() - 1};
}

Value Values::unsigned_integer(std::uint64_t value) {
  if (value <= Value::kPayloadMask >> 1) return {Tag::integer, value};
  return word(Tag::wide, value);
}

Value Values::signed_integer(std::int64_t value) {
  if (value >= 0) return unsigned_integer(static_cast<std::uint64_t>(value));
  const Value packed{Tag::integer, static_cast<std::uint64_t>(value)};
  return packed.integer() == value ? packed : word(Tag::wide_negative, static_cast<std::uint64_t>(value));
}

Value Values::real(double value) { return word(Tag::real, std::bit_cast<std::uint64_t>(value)); }

Value Values::pair(Value first, Value second) {
  PoolId id;
  if (!to_unsigned(first, id.first) || !to_unsigned(second, id.second)) return {Tag::opaque};
  if (pairs.size() == 0 || pairs.back() != id) pairs.push_back(id);
  return {Tag::pair, pairs.size() - 1};
}

bool Values::to_unsigned(Value value, std::uint64_t& result) const {
  if (value.tag() == Tag::integer && value.integer() >= 0) {
    result = value.payload();
    return true;
  }
  if (value.tag() != Tag::wide) return false;
  result = words[value.index()];
  return true;
}

bool Values::to_signed(Value value, std::int64_t& result) const {
  std::uint64_t word = 0;
  if (!to_bits(value, word)) return false;
  result = static_cast<std::int64_t>(word);
  return value.tag() != Tag::wide || result >= 0;
}

bool Values::to_bits(Value value, std::uint64_t& result) const {
  if (value.tag() == Tag::integer) {
    result = static_cast<std::uint64_t>(value.integer());
    return true;
  }
  if (value.tag() != Tag::wide && value.tag() != Tag::wide_negative) return false;
  result = words[value.index()];
  return true;
}

bool Fields::load(std::span<const Value> pairs) {
  seen_ = 0;
  other_keys_ = false;
  bool unique = true;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::uint64_t number = pairs[i].payload() - 1;
    if (pairs[i].tag() != Tag::string || number >= kKeyNames.size()) {
      other_keys_ = true;
      continue;
    }
    const KeySet bit = KeySet{1} << number;
    if ((seen_ & bit) != 0) {
      unique = false;
      twice_ = static_cast<Key>(number);
    }
    seen_ |= bit;
    values_[number] = pairs[i + 1];
  }
  return unique;
}

void FieldReader::fail(Key key, const char* rule) {
  if (failed_) return;
  failed_ = true;
  rule_ = rule;
  key_ = key;
}

std::uint64_t FieldReader::required_count(Key key) {
  if (!fields_.has(key)) fail(key, kMissing);
  return count(key);
}

std::uint64_t FieldReader::count(Key key, std::uint64_t otherwise) {
  if (!fields_.has(key)) return otherwise;
  std::uint64_t result = 0;
  if (!values_.to_unsigned(fields_[key], result)) fail(key, kNoCount);
  return result;
}

std::int64_t FieldReader::integer(Key key, std::int64_t otherwise) {
  if (!fields_.has(key)) return otherwise;
  std::int64_t result = 0;
  if (!values_.to_signed(fields_[key], result)) fail(key, "is not a whole number of 64 bits");
  return result;
}

std::uint64_t FieldReader::bits(Key key) {
  std::uint64_t result = 0;
  if (fields_.has(key) && !values_.to_bits(fields_[key], result)) fail(key, "is not a whole number");
  return result;
}

bool FieldReader::boolean(Key key) {
  if (!fields_.has(key)) return false;
  const Value value = fields_[key];
  const bool number = value.tag() == Tag::integer && value.payload() <= 1;
  if (value.tag() != Tag::boolean && !number) fail(key, "is neither true nor false");
  return value.payload() == 1;
}

double FieldReader::real(Key key) {
  if (!fields_.has(key)) return 0;
  std::int64_t whole = 0;
  if (values_.to_signed(fields_[key], whole)) return static_cast<double>(whole);
  const bool real = fields_[key].tag() == Tag::real;
  const double number = real ? std::bit_cast<double>(values_.words[fields_[key].index()]) : 0;
  if (real && std::isfinite(number)) return number;
  fail(key, "is not a finite number");
  return 0;
}

StringId FieldReader::text(Key key, bool required) {
  if (!fields_.has(key) && required) fail(key, kMissing);
  if (!fields_.has(key) || fields_[key].tag() == Tag::none) return {};
  if (fields_[key].tag() == Tag::string) return StringId{fields_[key].index()};
  fail(key, "is not a string");
  return {};
}

StackId FieldReader::stack(Key key) {
  if (!fields_.has(key)) return {};
  const Value value = fields_[key];
  if (value.tag() == Tag::stack) return StackId{value.index()};
  if (value.tag() != Tag::empty_list && value.tag() != Tag::none) fail(key, "is not a list of frames");
  return {};
}

void FieldReader::fits(Key size_key, Address address, Bytes size) {
  if (size.count > std::numeric_limits<std::uint64_t>::max() - address.value) fail(size_key, "reaches beyond 2^64");
}

std::string fault_text(const Fault& fault) {
  return fmt::format("key '{}' of a {} {}", key_name(fault.key), fault.record, fault.rule);
}

}  // namespace quarry::stats::formats
