// Runs a hunt's program on the simulated device and judges it. The program is correct by the rules of allocator.h, so
// every hazard is the allocator's fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/hunt_program.h"

namespace quarry::hunt {

struct Breach {
  std::size_t operations = 0;  // the first so many do it
  std::string what;
};

// A hazard, a lost byte or a broken identity; nothing if all is well.
std::optional<Breach> run(const Program& program);

// How often a program did what it was meant to do.
struct Coverage {
  std::uint64_t served = 0;
  std::uint64_t refused = 0;
  std::uint64_t uses = 0;
  std::uint64_t met_inside = 0;  // steps that ran inside a driver call of another thread
  std::uint64_t renewed = 0;     // streams
  std::uint64_t alias_maps = 0;
  std::uint64_t stream_waits = 0;
  std::uint64_t handed_over = 0;  // blocks in bytes that were another stream's still (paged policy)
  std::uint64_t unmaps = 0;
  std::uint64_t queries = 0;   // of events: frees were pending when a request came
  std::uint64_t captured = 0;  // uses that became part of a graph
  std::uint64_t launched = 0;  // graphs
};
std::optional<Breach> run(const Program& program, Coverage& coverage);

// The program made as small as it goes, as a script, and what it does.
std::string explain(const Program& program);

}  // namespace quarry::hunt
