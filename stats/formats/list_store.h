// Storage of the containers of a snapshot while they are built: recycled, and typed as soon as the first item says what
// kind of list it is. A list of trace entries therefore never exists as a list of dicts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include <quarry/stats/formats/value.h>
#include <quarry/stats/trace.h>

namespace quarry::stats::formats {

// A block's past in the oldest files: only the newest request matters.
struct History {
  Bytes requested;
  StackId stack{};
};

struct ParsedSegment {
  TraceSegment segment;
  std::int64_t device = 0;  // -1 = host
};

// Where the last record of each kind is put for the list that takes it.
struct Scratch {
  TraceEntry entry;
  ParsedSegment segment;
  TraceBlock block;
  History history;
};

enum class ListKind : std::uint8_t {
  empty,
  numbers,
  frames,
  entries,
  segments,
  blocks,
  histories,
  lists,
  mixed,
  faulty
};

inline constexpr std::uint32_t kNoStorage = 0xffffffff;

struct ListState {
  ListKind kind = ListKind::empty;
  std::uint32_t count = 0;  // all items, also skipped ones
  // By kind: numbers: the first two; lists: list storage of each item or kNoStorage; faulty: the first fault;
  // histories: the first one.
  std::variant<std::monostate, std::array<Value, 2>, std::vector<Frame>, std::vector<TraceEntry>,
               std::vector<ParsedSegment>, std::vector<TraceBlock>, std::vector<std::uint32_t>, History, Value>
      items;
};

// Slots that are used again. Growing moves nothing.
template <class T>
class SlotPool {
 public:
  std::uint32_t acquire() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void release(std::uint32_t index) { free_.push_back(index); }
  T& operator[](std::uint32_t index) { return slots_[index]; }
  std::size_t in_use() const { return slots_.size() - free_.size(); }

 private:
  std::deque<T> slots_;
  std::vector<std::uint32_t> free_;
};

using ListPool = SlotPool<ListState>;

// Adds one settled value; records are moved out of `scratch`.
void append_item(ListPool& lists, ListState& list, Value item, Scratch& scratch, const std::vector<Frame>& frames);

}  // namespace quarry::stats::formats
