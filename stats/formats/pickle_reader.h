// A pickle machine for plain data: no opcode that names a class or calls code is known to it. It feeds a
// SnapshotBuilder and keeps 8 bytes per stack value and memo entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <quarry/stats/formats/byte_source.h>
#include <quarry/stats/formats/grow_buffer.h>
#include <quarry/stats/formats/snapshot_builder.h>

namespace quarry::stats::formats {

// Longest string read, and deepest nesting.
inline constexpr std::size_t kMaxString = 4 << 20;
inline constexpr std::size_t kMaxNesting = 64;

class PickleReader {
 public:
  PickleReader(ByteSource& source, SnapshotBuilder& builder) : source_(source), builder_(builder) {}

  // Reads the whole source. False with source.failure() set if a rule is broken.
  bool read();

 private:
  struct Mark {
    std::size_t stack;
    std::size_t objects;
  };

  bool fail(std::string rule);
  bool cut_short();
  bool refill();
  bool stop();

  bool step(unsigned opcode);
  bool step_rare(unsigned opcode);
  bool refuse(unsigned opcode);

  bool take(std::size_t count);  // the operand: `count` bytes, then at operand_
  template <std::size_t kBytes>
  std::uint64_t operand() const;  // little-endian
  bool protocol();
  bool frame();
  bool push(Value value);
  template <std::size_t kBytes>
  bool push_integer();
  bool push_float();
  template <std::size_t kBytes>
  bool push_string();
  template <std::size_t kBytes>
  bool push_long();
  template <std::size_t kBytes>
  bool push_memo();
  template <std::size_t kBytes>
  bool memoize_at();
  bool memoize(std::uint64_t index);

  bool mark();
  bool has(std::size_t count);        // values above the last mark
  bool take_mark(std::size_t below);  // removes the last mark, with `below` values under it; then marked()
  std::span<Value> marked() { return stack_.from(taken_.stack); }
  void drop_marked();
  void forget(Value value);
  bool append();
  bool append_marked();
  bool set_item();
  bool set_items_marked();
  bool tuple(std::size_t count);
  bool tuple_marked();
  bool list_marked();
  bool dict_marked();

  ByteSource& source_;
  SnapshotBuilder& builder_;
  GrowBuffer<Value> stack_;
  GrowBuffer<Value> memo_;
  std::uint64_t memo_used_ = 0;
  std::size_t pinned_ = 0;  // objects below this may be in the memo
  std::array<Mark, kMaxNesting> marks_;
  std::size_t mark_count_ = 0;
  std::size_t fence_ = 0;  // stack size at the last mark
  std::uint64_t frame_end_ = 0;
  std::uint64_t opcode_at_ = 0;
  const unsigned char* operand_ = nullptr;
  Mark taken_{};
};

}  // namespace quarry::stats::formats
