// A program of logical threads and streams, as plain data: generated from a seed, run, shrunk, printed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace quarry::hunt {

inline constexpr std::uint32_t kThreads = 4;
inline constexpr std::uint32_t kStreams = 4;  // 0 is the default stream
inline constexpr std::uint32_t kPools = 4;    // private ones; the last kGraphPools serve captures, the others scopes
inline constexpr std::uint32_t kGraphPools = 2;

enum class Act : std::uint8_t {
  allocate,     // `block`, `amount` bytes, on `stream`
  read,         // work of `amount` ns on `stream`
  write,        // the same
  free,         // `block`
  note_wait,    // `stream` waits for what stream number `amount` has queued, and the allocator is told
  empty_cache,  //
  retire,       // `stream`: retired, destroyed, created anew
  drop,         // `stream`: destroyed without a word to the allocator, created anew; its work runs on
  advance,      // virtual time by `amount` ns
  configure,    // the settings with the number `amount`
  begin_pool,   // a scope that takes every request; those on `stream` if `amount` is not 0
  end_pool,     //
  release,      // all users of `pool` give it up
  empty_pool,   //
  lend,         // `pool` serves the default pool when the device is full
  capture,      // `stream` begins a capture into `pool`
  fork,         // `stream` joins the capture of the thread
  end_capture,  // of the thread
  launch        // a graph captured into `pool`, on `stream`
};

// What one logical thread does next. Only the thread that owns a block uses it.
struct Step {
  Act act = Act::advance;
  std::uint32_t thread = 0;
  std::uint32_t block = 0;
  std::uint32_t stream = 0;
  std::uint32_t pool = 0;
  std::uint64_t amount = 0;
  // Runs while the last step that is not `inside` is in a driver call, if it makes one in which that is possible; right
  // after it otherwise.
  bool inside = false;
};

enum class Policy : std::uint8_t { pytorch, tight, fast };  // the last two: paged, by placement

struct Program {
  std::uint64_t capacity = 0;
  std::uint64_t settings = 0;
  std::vector<Step> operations;
  Policy policy = Policy::pytorch;
};

// The option string with that number.
const char* settings_text(std::uint64_t number);
// The option string that the allocator is opened with.
std::string opening_text(const Program& program);

Program generate(std::uint64_t seed, std::size_t steps);
// The same program for the paged policy: with settings of its own, and waits that the allocator is told of.
Program generate_paged(std::uint64_t seed, std::size_t steps);

// As a script in the operation language of conformance/README.md, with words of its own: `read`, `write` (after the
// waits that a correct program makes, and with `record` where it is needed), `retire`, `drop`, `advance`, `launch`; a
// scope may name a stream. What ran inside a driver call of the line before is indented.
std::string to_text(const Program& program);

}  // namespace quarry::hunt
