// A case: operations with what must be seen after each. Two front ends read it, `.ops` scripts and recorded JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/cases/operation.h"

#include <quarry/allocator/options.h>
#include <quarry/allocator/result.h>
#include <quarry/allocator/types.h>

namespace quarry::tools {

// Statistics by the names of torch.cuda.memory_stats: [current, peak, allocated, freed], or a plain count.
using StatValue = std::variant<std::array<std::int64_t, 4>, std::int64_t>;
using StatTable = std::map<std::string, StatValue, std::less<>>;

// Where a block or segment lies. Segments are numbered from 0 in order of creation; a number is never used twice.
struct Place {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size;

  friend bool operator==(const Place&, const Place&) = default;
};

// `place` is empty for an out-of-memory entry.
struct RecordedEvent {
  std::string action;
  std::optional<Place> place;
  std::uint64_t size = 0;
  std::uint32_t stream = 0;
  PoolId pool;

  friend bool operator==(const RecordedEvent&, const RecordedEvent&) = default;
};

struct RecordedBlock {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;  // a leftover in a free block: not compared
  char state = 'F';             // A allocated, P pending, F free

  friend bool operator==(const RecordedBlock& a, const RecordedBlock& b) {
    return a.offset == b.offset && a.size == b.size && a.state == b.state &&
           (a.state == 'F' || a.requested == b.requested);
  }
};

struct RecordedSegment {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t stream = 0;
  std::string size_class;
  bool expandable = false;
  PoolId pool;
  std::vector<RecordedBlock> blocks;

  friend bool operator==(const RecordedSegment&, const RecordedSegment&) = default;
};
using RecordedLayout = std::vector<RecordedSegment>;

// The answer of one recorded operation. Absent keys are empty.
struct Answer {
  bool null = false;
  bool skip = false;
  std::optional<std::string> error;  // exception class; "" if only that it failed is known
  std::optional<Place> at;
  std::optional<double> value;
  std::vector<std::string> calls;  // `cudaMalloc 512 ok`; cudaMemGetInfo left out
  std::vector<RecordedEvent> events;
  std::optional<RecordedLayout> layout;             // empty = as before
  StatTable stats;                                  // those that changed since the last row that has them
  std::optional<std::array<std::int64_t, 5>> sums;  // the compact row `s`; such rows have no events
};

struct Step {
  Operation operation;
  std::string text;
  std::size_t line = 0;                  // in a script; 0 in a recording
  std::unique_ptr<const Answer> answer;  // recordings only
};

struct Case {
  std::string file;  // name without folder and endings: "rounding"
  std::string name;
  std::string shows;
  std::string config;
  Bytes capacity = kUnlimited;
  Bytes context;
  StatTable start_stats;
  bool has_start_stats = false;
  bool refused_at_load = false;
  std::vector<Step> steps;
};

// Reads a `.ops` script or a recorded file (plain or gzip), told apart by content. Errors are ErrorCode::invalid, one
// line: `FILE: line N: rule` or `FILE: cases[2].ops[7].at: rule`. Hostile files cost bounded memory and time.
Result<std::vector<Case>> read_cases(const std::string& path);

// The two front ends; `file` is what messages call the source.
Result<Case> parse_script(std::string_view text, const std::string& file);
Result<std::vector<Case>> parse_recording(std::string_view text, const std::string& file);

}  // namespace quarry::tools
