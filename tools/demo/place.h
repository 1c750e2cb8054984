// The memory a demonstration works in: a GPU, the simulated device, or this process's memory.
#pragma once

#include <string>

#include <quarry/allocator/options.h>
#include <quarry/tensor/place.h>

namespace quarry::tools {

struct DemoDevice {
  std::string taken;  // cuda:N, sim, host
  std::string why;
};

// `name` passed check_device_name. auto is the GPU if one answers, else the simulated device. Errors are those of
// open_demo_place.
Result<DemoDevice> choose_demo_device(const std::string& name);

// A new space on `device`, with nothing reserved in it, and the place of its default stream. Errors of opening it:
// `unsupported` where there is no GPU.
Result<Place> open_demo_place(const DemoDevice& device, const Options& options = {});

}  // namespace quarry::tools
