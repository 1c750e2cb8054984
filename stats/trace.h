// The trace model: what a recording holds, whatever file it came from. Every reader fills it, replay and reports read
// it.
//
// Compact on purpose: an entry is 56 bytes, strings and stacks are interned once per trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quarry/allocator/types.h>
#include <quarry/stats/hash_index.h>

namespace quarry::stats {

// Index into Trace::strings; 0 is the empty string.
enum class StringId : std::uint32_t {};
// Index into Trace::stacks; 0 is "no stack recorded".
enum class StackId : std::uint32_t {};
// Index into Trace::pools.
enum class PoolIndex : std::uint16_t {};
inline constexpr PoolIndex kUnknownPool{0xffff};  // the file does not say

// Interned text. Ids and views stay valid as long as the table, also when it is moved.
class StringTable {
 public:
  StringTable();
  StringId intern(std::string_view text);
  std::string_view at(StringId id) const { return texts_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::string_view store(std::string_view text);

  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> chunks_;  // what the views point into
  char* chunk_next_ = nullptr;
  std::size_t chunk_left_ = 0;
  HashIndex index_;
};

struct Frame {
  StringId name{};
  StringId file{};
  std::int64_t line = -1;  // -1 = unknown

  friend bool operator==(const Frame&, const Frame&) = default;
};

// Interned call stacks, innermost frame first. A span is valid until the next intern.
class StackTable {
 public:
  StackTable();
  StackId intern(std::span<const Frame> frames);
  std::span<const Frame> at(StackId id) const;
  std::size_t size() const { return spans_.size(); }

 private:
  struct Span {
    std::uint64_t offset;
    std::uint32_t count;
  };
  std::vector<Frame> frames_;
  std::vector<Span> spans_;
  HashIndex index_;
};

enum class TraceAction : std::uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom
};
inline constexpr std::size_t kTraceActions = 9;
std::string_view action_name(TraceAction action);
std::optional<TraceAction> action_from_name(std::string_view name);

// size: requested bytes for alloc and free_*, real bytes for segment_*, the rounded request for oom.
struct TraceEntry {
  Address address;  // 0 for oom and snapshot
  Bytes size;
  std::int64_t time_us = -1;  // since the epoch; -1 = not recorded
  std::uint64_t stream = 0;   // native handle as a number
  Bytes device_free;          // oom only
  StackId stack{};
  StringId user_metadata{};
  StringId compile_context{};
  PoolIndex pool = kUnknownPool;
  TraceAction action = TraceAction::alloc;
};

struct TraceBlock {
  Address address;
  Bytes size;
  Bytes requested;
  BlockState state = BlockState::free;
  StackId stack{};
};

struct TraceSegment {
  Address address;
  Bytes total_size;
  Bytes allocated_size;  // as the file says
  Bytes active_size;
  Bytes requested_size;
  std::uint64_t stream = 0;
  SizeClass size_class = SizeClass::small;
  bool expandable = false;
  PoolIndex pool = kUnknownPool;
  StackId stack{};
  std::vector<TraceBlock> blocks;  // in the file's order
};

// Entries in the order they were recorded; segments as they were at the end, in address order.
struct DeviceTrace {
  std::vector<TraceEntry> entries;
  std::vector<TraceSegment> segments;
};

// allocator_settings as far as we know them. Absent keys keep these defaults.
struct TraceSettings {
  bool present = false;              // the file has settings at all
  std::string conf;                  // the recorded option string, verbatim
  std::int64_t max_split_size = -1;  // bytes; -1 = unlimited
  double garbage_collection_threshold = 0;
  bool expandable_segments = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> roundup_power2_divisions;  // interval in MiB -> divisions
};

struct Trace {
  StringTable strings;
  StackTable stacks;
  std::vector<PoolId> pools;         // by PoolIndex
  std::vector<DeviceTrace> devices;  // by device ordinal
  TraceSettings settings;
  std::uint64_t external_annotations = 0;  // counted, not kept
  std::uint64_t host_segments = 0;
  std::uint64_t host_entries = 0;
  bool block_addresses_derived = false;    // old schema: addresses are running sums
  std::uint64_t skipped_keys = 0;          // unknown keys, each occurrence
  std::uint64_t skipped_actions = 0;       // entries with an unknown action
  std::vector<std::string> skipped_names;  // the distinct unknown keys and actions, sorted, at most 64
  std::uint64_t file_bytes = 0;            // unpacked

  PoolIndex pool_index(PoolId id);  // adds it if it is new; kUnknownPool when there are too many
};

}  // namespace quarry::stats
