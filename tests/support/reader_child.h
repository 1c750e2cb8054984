// Reads a snapshot in a child process with little memory, as a hostile file must be readable.
#pragma once

#include <cstddef>
#include <string>

namespace quarry::test {

struct ChildOutcome {
  bool answered = false;  // the reader returned; false: it crashed, ran out of memory or did not come back
  bool read = false;      // it returned a trace
  std::string message;    // its error
};

// `memory` bytes of address space more than the process has now, and a processor time after which it counts as hung.
// Sanitizers need address space of their own, so there is no memory limit in their builds.
ChildOutcome read_in_child(const std::string& path, std::size_t memory);

}  // namespace quarry::test
