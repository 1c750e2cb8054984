#include "tools/cases/json_node.h"

#include <fmt/format.h>

#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxValues = 250'000;

// A pass over the text that bounds what the parser will build.
Status check_bounds(std::string_view text) {
  std::size_t depth = 0;
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth, ++values;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',') ++values;
    if (depth > kMaxDepth) return invalid(fmt::format("at byte {}: nested deeper than {}", at, kMaxDepth));
    if (values > kMaxValues) return invalid(fmt::format("at byte {}: more than {} values", at, kMaxValues));
  }
  return Done{};
}

}  // namespace

Result<json> parse_json(std::string_view text) {
  if (const Status bounded = check_bounds(text); !bounded) return bounded.error();
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return invalid(fmt::format("at byte {}: not JSON", error.byte));
  } catch (const json::exception&) {  // a number out of range
    return invalid("at byte 0: a number is out of range");
  }
}

JsonNode JsonNode::member(std::string_view key) const {
  return {this, key, 0, has(key) ? &(*value_)[std::string(key)] : nullptr};
}

JsonNode JsonNode::element(std::size_t index) const {
  return {this, {}, index, is_array() && index < value_->size() ? &(*value_)[index] : nullptr};
}

std::size_t JsonNode::array_size() const {
  if (is_array()) return value_->size();
  note("must be a list");
  return 0;
}

std::size_t JsonNode::array_size(std::size_t least, std::size_t most) const {
  const std::size_t size = array_size();
  if (size < least || size > most) note(fmt::format("must have {} to {} elements", least, most));
  return size;
}

const json::object_t& JsonNode::object() const {
  static const json::object_t kEmpty;
  if (value_ && value_->is_object()) return value_->get_ref<const json::object_t&>();
  note("must be an object");
  return kEmpty;
}

std::string JsonNode::string() const {
  if (value_ && value_->is_string()) return value_->get<std::string>();
  note("must be a string");
  return {};
}

std::int64_t JsonNode::integer() const {
  const bool fits = value_ && value_->is_number_integer() &&
                    (!value_->is_number_unsigned() || value_->get<std::uint64_t>() <= INT64_MAX);
  if (fits) return value_->get<std::int64_t>();
  note("must be an integer of 64 bits");
  return 0;
}

std::uint64_t JsonNode::count(std::uint64_t limit) const {
  if (value_ && value_->is_number_unsigned() && value_->get<std::uint64_t>() <= limit) {
    return value_->get<std::uint64_t>();
  }
  note(fmt::format("must be an integer from 0 to {}", limit));
  return 0;
}

double JsonNode::number() const {
  if (value_ && value_->is_number()) return value_->get<double>();
  note("must be a number");
  return 0;
}

bool JsonNode::boolean() const {
  if (value_ && value_->is_boolean()) return value_->get<bool>();
  note("must be true or false");
  return false;
}

void JsonNode::note(std::string_view rule) const {
  if (!failed()) *errors_ = fmt::format("{}: {}{}", path(), rule, value_ ? "" : ", and is missing");
}

std::string JsonNode::path() const {
  if (!parent_) return "$";
  if (key_.empty()) return fmt::format("{}[{}]", parent_->path(), index_);
  const std::string above = parent_->path();
  return (above == "$" ? "" : above + ".") + printable(key_);
}

}  // namespace quarry::tools
