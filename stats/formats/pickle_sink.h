// Writes a pickle of protocol 4 for SnapshotEmitter, with the opcodes that the web viewer knows and no others. Integers
// have at most 8 bytes, except what only 9 can hold: 2^63 and more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <quarry/stats/trace.h>

namespace quarry::stats::formats {

class PickleSink {
 public:
  PickleSink();

  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  void key(std::string_view name);
  void text(std::string_view text);
  void number(std::uint64_t value);
  void integer(std::int64_t value);
  void real(double value);
  void boolean(bool value);
  void pair(std::uint64_t a, std::uint64_t b);
  // True if the frames of `stack` were written before; they are then referred to.
  bool shared(StackId stack);
  // The list just ended has the frames of `stack`.
  void share(StackId stack);

  std::string take();

 private:
  struct Open {
    bool is_list;
    std::size_t items;
  };

  void item();  // before every value
  void put(unsigned opcode) { out_ += static_cast<char>(opcode); }
  void put_bytes(std::uint64_t value, std::size_t bytes);
  void put_string(std::string_view text);
  void put_number(std::uint64_t value);
  void put_long(std::uint64_t value, std::size_t bytes);
  void get(std::uint32_t memo);
  std::uint32_t memoize();

  std::string out_;
  std::vector<Open> open_;
  std::uint32_t memo_size_ = 0;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::unordered_map<std::uint32_t, std::uint32_t> stacks_;
};

}  // namespace quarry::stats::formats
