// One program for the paged policy with a fault at one driver call, judged while it runs and after everything was given
// back: clean errors, nothing leaked, nothing lost, and the next request works.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/faulty_driver.h"
#include "tests/support/paged_program.h"

namespace quarry::paged {

struct FaultedRun {
  std::string breach;  // empty if all is well
  // Until the fault was lifted:
  std::uint64_t calls = 0;  // of the driver
  std::uint64_t unmaps = 0;
  std::uint64_t alias_maps = 0;
  std::uint64_t stream_waits = 0;
};

// What is costly to check is checked after every `check_every` steps and after the last.
FaultedRun run_with_fault(const Program& program, const test::DriverFault& fault, std::size_t check_every = 1);

std::string to_text(const test::DriverFault& fault);

}  // namespace quarry::paged
