// One value of a snapshot file in 8 bytes: what the pickle machine has on its stack and in its memo. Containers are
// handles, so a reference costs 8 bytes however large the thing is.
#pragma once

#include <cstdint>

namespace quarry::stats::formats {

enum class Tag : std::uint8_t {
  unset,  // no value: a memo slot never written
  none,
  boolean,        // payload 0 or 1
  integer,        // payload, sign-extended from 56 bits
  wide,           // index into Values::words: an unsigned 64-bit integer
  wide_negative,  // the same, as two's complement
  real,           // the same, as the bits of a double
  string,         // StringId
  handle,         // index into SnapshotBuilder's objects: a list or dict

  // What an object is while it can still change:
  open_dict,  // storage + 1, or 0
  open_list,  // "
  // What it has become once something used it:
  empty_list,
  pair,           // index into Values::pairs
  frame,          // index into the frame table
  stack,          // StackId
  items,          // list storage: entries, segments, blocks, histories or lists
  raw_dict,       // dict storage, kept as pairs
  skipped_entry,  // a trace entry with an unknown action
  entry,          // the record lies in the builder's scratch
  segment,        // "
  block,          // "
  history,        // "
  taken,          // a record or list that its user has moved away
  opaque,         // plain data that nothing needs; payload: number of items, if it was a list
  fault,          // index into Values::faults: a record that broke a rule, fatal only where the record is needed
};

class Value {
 public:
  static constexpr std::uint64_t kPayloadMask = (std::uint64_t{1} << 56) - 1;

  Value() = default;  // trivial on purpose; see Tag::unset for a cleared one
  constexpr Value(Tag tag, std::uint64_t payload = 0)
      : bits_(static_cast<std::uint64_t>(tag) << 56 | (payload & kPayloadMask)) {}

  constexpr Tag tag() const { return static_cast<Tag>(bits_ >> 56); }
  constexpr std::uint64_t payload() const { return bits_ & kPayloadMask; }
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(bits_); }
  constexpr std::int64_t integer() const { return static_cast<std::int64_t>(bits_ << 8) >> 8; }

 private:
  std::uint64_t bits_;
};
static_assert(sizeof(Value) == 8);

}  // namespace quarry::stats::formats
