// The simulated device of the stand-in libcuda, reached through the CUDA backend: for cases and replays.
#pragma once

#include <memory>

#include <gtest/gtest.h>
#include "support/standin.h"
#include "tools/sim_backend.h"

namespace quarry::standin {

// The stand-in owns its device until the next one is made.
inline tools::SimBackend backend(const sim::DeviceOptions& options) {
  const auto driver = fresh_driver({.device = options});
  EXPECT_NE(driver, nullptr);
  return {std::shared_ptr<sim::Device>(&control().device(0), [](sim::Device*) {}), driver};
}

}  // namespace quarry::standin
