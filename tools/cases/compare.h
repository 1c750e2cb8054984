// What was seen against what was recorded or expected, key by key.
#pragma once

#include <vector>

#include "tools/cases/run.h"
#include "tools/cases/session.h"

namespace quarry::tools {

// Keeps what a recording leaves unsaid because it has not changed: the layout and the statistics.
class Comparison {
 public:
  // Differences of the statistics at start.
  std::vector<Difference> start(const Case& one, const Session& session);

  // Differences of one recorded step, in a fixed order of keys. What was seen is taken as the state to go on from.
  std::vector<Difference> step(const Answer& recorded, const Seen& seen, bool is_check, const Session& session);

 private:
  void compare_state(const Answer& recorded, const Session& session, std::vector<Difference>& into);

  RecordedLayout layout_;
  StatTable stats_;
};

// A step without a recorded answer may only run out of memory, and only where it asks for memory.
std::vector<Difference> compare_unrecorded(const Seen& seen, const Operation& operation);

}  // namespace quarry::tools
