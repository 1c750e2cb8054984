// What a program does to an allocator, as plain data: generated, run on the real thing, judged by the oracle, shrunk,
// and printed in the operation language of conformance/README.md. Sizes in bytes unless a name says MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <quarry/allocator/options.h>

namespace quarry::oracle {

// `all` for every power of two, or a list of (MiB, divisions) in which MiB 0 is the open end, ">".
struct Roundup {
  std::uint32_t all = 0;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> list{};
};

// The keys of one option string; what is not set is not named.
struct Settings {
  std::optional<std::uint64_t> large_segment_mib{};
  std::optional<std::uint64_t> max_split_mib{};
  std::optional<std::uint64_t> max_non_split_rounding_mib{};
  std::optional<Roundup> roundup{};

  std::string text() const;
};

// `id` names the block for the rest of the program.
struct Allocate {
  std::uint32_t id = 0;
  std::uint64_t size = 0;
  std::uint32_t stream = 0;
};
// Skipped when `id` is not live: its allocation failed, or shrinking took it away.
struct Free {
  std::uint32_t id = 0;
};
struct EmptyCache {};
struct ResetPeak {};
struct ResetAccumulated {};
struct SetFraction {
  double fraction = 1.0;
};
struct Configure {
  Settings settings{};
};
struct SetCapacity {
  std::uint64_t bytes = 0;
};
struct SetOutside {
  std::uint64_t bytes = 0;
};
// The nth next driver call that asks for a segment fails: out of memory, or another error.
struct FailSegment {
  std::uint64_t nth = 1;
  bool other = false;
};
using Operation = std::variant<Allocate, Free, EmptyCache, ResetPeak, ResetAccumulated, SetFraction, Configure,
                               SetCapacity, SetOutside, FailSegment>;

struct Start {
  Settings settings{};
  TieBreak tie_break = TieBreak::segment;
  std::uint64_t memory_limit = kUnlimited.count;
  std::uint64_t capacity = kUnlimited.count;
  std::uint64_t outside = 0;
  std::uint32_t streams = 1;
};

struct Program {
  Start start;
  std::vector<Operation> operations;
};

// One line of a script.
std::string to_text(const Operation& operation);
// The whole as a script; what the language has no word for stands in comments at the top.
std::string to_text(const Program& program);

}  // namespace quarry::oracle
