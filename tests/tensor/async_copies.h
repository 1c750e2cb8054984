// Random schedules of asynchronous copies between pinned and device memory, made from a seed: tensors come and go,
// streams wait for each other where a correct program must make them, the device lags behind as it likes.
#pragma once

#include <cstdint>
#include <string>

namespace quarry::tensor_tests {

// Runs the schedule of `seed` on a device of its own. Empty if the hazard checker found nothing, every value read was
// what the program says, and nothing was left at the end; else the first thing that was wrong.
std::string run_copy_schedule(std::uint64_t seed);

}  // namespace quarry::tensor_tests
