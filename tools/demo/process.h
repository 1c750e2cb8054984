// The demonstration `process`: what the operating system sees of host memory, and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/tensor/place.h>

#include "tools/demo/process_memory.h"

namespace quarry::tools {

struct ProcessStep {
  std::string name;
  ProcessMemory process;
  Bytes pinned;     // reserved by the pinned space, 0 while there is none
  Bytes allocated;  // of the space that is shown
  Bytes reserved;   // of the same
};

// The same steps in one kind of host memory.
struct ProcessRun {
  std::string memory;              // pageable, pinned
  std::string device;              // what the space says of itself while its tensors live
  std::vector<ProcessStep> steps;  // before, allocated, touched, freed, emptied
};

struct ProcessDemo {
  std::int64_t tensors = 5;
  Dims sizes = {2000, 2000};
  Bytes storage;  // of all of them together
  std::vector<ProcessRun> runs;
};

// In this process's memory; pinned by a GPU's driver where one answers, else locked by this process.
Result<ProcessDemo> run_process_demo();

}  // namespace quarry::tools
