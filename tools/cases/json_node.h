// Reading JSON without checking after every step: a node knows its path, wrong types are noted once and read as zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <quarry/allocator/result.h>

namespace quarry::tools {

// Parses within limits: nesting of 16, a quarter of a million values. Errors name the byte.
Result<nlohmann::json> parse_json(std::string_view text);

// A view into a document that outlives it. Children keep a pointer to their parent for the path: use them in its scope.
class JsonNode {
 public:
  using Errors = std::optional<std::string>;  // the first `path: rule`

  JsonNode(const nlohmann::json& root, Errors& errors) : value_(&root), errors_(&errors) {}

  // A member or element. A missing one is noted as soon as it is read as something; optional ones are asked for first.
  JsonNode member(std::string_view key) const;
  JsonNode element(std::size_t index) const;
  bool has(std::string_view key) const { return value_ && value_->is_object() && value_->contains(key); }
  bool is_null() const { return value_ && value_->is_null(); }
  bool is_array() const { return value_ && value_->is_array(); }
  bool is_string() const { return value_ && value_->is_string(); }

  std::size_t array_size() const;  // 0 and a note if it is no array
  std::size_t array_size(std::size_t least, std::size_t most) const;
  const nlohmann::json::object_t& object() const;  // empty and a note if it is no object
  std::string string() const;
  std::int64_t integer() const;
  std::uint64_t count(std::uint64_t limit = UINT64_MAX) const;  // an integer of 0 or more
  double number() const;
  bool boolean() const;

  void note(std::string_view rule) const;  // breaks a rule here
  bool failed() const { return errors_->has_value(); }

 private:
  JsonNode(const JsonNode* parent, std::string_view key, std::size_t index, const nlohmann::json* value)
      : value_(value), errors_(parent->errors_), parent_(parent), key_(key), index_(index) {}
  std::string path() const;

  const nlohmann::json* value_;
  Errors* errors_;
  const JsonNode* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

}  // namespace quarry::tools
