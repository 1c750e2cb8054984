#include <quarry/stats/formats/json_reader.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <quarry/stats/formats/pickle_reader.h>
#include <nlohmann/json.hpp>

namespace quarry::stats::formats {
namespace {

// A token longer than this ends the input; the parser then stops, and read_json says why.
struct TokenGuard {
  ByteSource& source;
  std::uint64_t token_start = 0;
  bool overlong = false;

  bool at_end() {
    if (source.offset() - token_start > kMaxString) overlong = true;
    return overlong || !source.ensure(1);
  }
};

class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;  // the end
  explicit ByteIterator(TokenGuard& guard) : guard_(&guard) {}

  char operator*() const { return static_cast<char>(*guard_->source.cursor); }
  ByteIterator& operator++() {
    ++guard_->source.cursor;
    return *this;
  }
  ByteIterator operator++(int) { return ++*this; }
  // Only ever compared with the end.
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) {
    const ByteIterator& live = a.guard_ != nullptr ? a : b;
    return live.guard_ == nullptr || live.guard_->at_end();
  }

 private:
  TokenGuard* guard_ = nullptr;
};

class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(TokenGuard& guard, SnapshotBuilder& builder) : guard_(guard), builder_(builder) {}

  Value root() const { return root_; }

  bool null() override { return value({Tag::none}); }
  bool boolean(bool flag) override { return value({Tag::boolean, flag}); }
  bool number_integer(number_integer_t number) override { return value(builder_.values.signed_integer(number)); }
  bool number_unsigned(number_unsigned_t number) override { return value(builder_.values.unsigned_integer(number)); }
  bool number_float(number_float_t number, const string_t&) override { return value(builder_.values.real(number)); }
  bool string(string_t& text) override { return value(builder_.string(text)) && builder_.plausible(); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& text) override {
    next_token();
    values_.push_back(builder_.string(text));
    return builder_.plausible();
  }
  bool start_object(std::size_t) override { return open(builder_.new_dict(), true); }
  bool end_object() override {
    next_token();
    const Open closed = open_.back();
    if (!builder_.set_items(closed.handle, values_.from(closed.values))) return false;
    return close(closed);
  }
  bool start_array(std::size_t) override { return open(builder_.new_list(), false); }
  bool end_array() override {
    next_token();
    return close(open_.back());
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view text = error.what();  // "[json.exception...] parse error at ...: reason"
    const std::size_t reason = text.find(": ");
    const std::string_view why = reason == text.npos ? text : text.substr(reason + 2);
    return guard_.source.failure().at(position, fmt::format("no valid JSON: {}", why));
  }

 private:
  struct Open {
    Value handle;
    bool is_dict;
    std::size_t values;  // of values_ when it was opened
  };

  void next_token() {
    guard_.token_start = guard_.source.offset();
    builder_.offset = guard_.token_start;
  }

  bool open(Value handle, bool is_dict) {
    next_token();
    if (open_.size() == kMaxNesting) {
      return guard_.source.failure().at(builder_.offset, fmt::format("nested deeper than {}", kMaxNesting));
    }
    open_.push_back({handle, is_dict, values_.size()});
    return true;
  }

  // What was inside is settled, and JSON has no way to refer to it again.
  bool close(const Open& closed) {
    values_.truncate(closed.values);
    builder_.drop_objects(closed.handle.index() + std::size_t{1});
    open_.pop_back();
    return value(closed.handle);
  }

  bool value(Value value) {
    next_token();
    if (open_.empty()) {
      root_ = value;
      return true;
    }
    if (open_.back().is_dict) {
      values_.push_back(value);
      return true;
    }
    if (!builder_.append(open_.back().handle, {&value, 1})) return false;
    if (value.tag() == Tag::handle) builder_.drop_objects(value.index());
    return true;
  }

  TokenGuard& guard_;
  SnapshotBuilder& builder_;
  std::vector<Open> open_;
  GrowBuffer<Value> values_;  // key, value, ... of the open dicts
  Value root_{Tag::none};
};

}  // namespace

bool read_json(ByteSource& source, SnapshotBuilder& builder) {
  TokenGuard guard{source};
  Events events(guard, builder);
  const bool parsed = nlohmann::json::sax_parse(ByteIterator(guard), ByteIterator(), &events);
  if (guard.overlong) {
    // The parser saw an end where we stopped it and may have complained about that.
    source.failure() = {};
    return source.failure().at(guard.token_start, fmt::format("a token longer than {} bytes", kMaxString));
  }
  return parsed && !source.failed() && builder.finish(events.root());
}

}  // namespace quarry::stats::formats
