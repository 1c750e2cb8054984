// Makes pickles: opcode by opcode for hostile ones, and whole documents in the styles of different writers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace quarry::test {

using Json = nlohmann::ordered_json;

class PickleBuilder {
 public:
  explicit PickleBuilder(int protocol = 4) { op(0x80).byte(protocol); }

  PickleBuilder& op(unsigned opcode) { return byte(static_cast<int>(opcode)); }
  PickleBuilder& byte(int value) {
    bytes_ += static_cast<char>(value);
    return *this;
  }
  PickleBuilder& raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  PickleBuilder& little(std::uint64_t value, int bytes);  // little-endian
  PickleBuilder& text(std::string_view text);             // SHORT_BINUNICODE or BINUNICODE
  PickleBuilder& number(std::int64_t value);              // the shortest opcode

  std::size_t size() const { return bytes_.size(); }
  const std::string& bytes() const { return bytes_; }
  std::string stop() const { return bytes_ + "."; }

 private:
  std::string bytes_;
};

// How a writer goes about it.
struct PickleStyle {
  enum class Memo { none, put, memoize };
  int protocol = 4;
  Memo memo = Memo::memoize;
  std::size_t batch = 1000;      // items per APPENDS and SETITEMS; 0 = all; 1 = APPEND and SETITEM
  bool frame = false;            // one FRAME around everything
  bool nine_byte = false;        // every integer as LONG1 of 9 bytes
  bool long4 = false;            // every integer as LONG4
  bool tuples = true;            // pool ids as tuples, as PyTorch has them
  bool mark_containers = false;  // LIST, DICT and TUPLE with MARK, as early protocols have them
};

std::string to_pickle(const Json& document, const PickleStyle& style = {});

}  // namespace quarry::test
