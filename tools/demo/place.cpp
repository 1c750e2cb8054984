#include "tools/demo/place.h"

#include <quarry/allocator/allocator.h>
#include <quarry/tensor/cuda_place.h>
#include <quarry/tensor/sim_place.h>

#include "tools/device_name.h"

namespace quarry::tools {
Result<DemoDevice> choose_demo_device(const std::string& name) {
  if (name == "sim" || name == "host") return DemoDevice{name, "as asked"};
  const Result<int> ordinal = cuda_ordinal(name == "auto" ? "cuda" : name);
  if (!ordinal) return ordinal.error();
  const Result<Place> gpu = open_cuda_place(*ordinal, {});
  if (gpu) return DemoDevice{"cuda:" + std::to_string(*ordinal), name == "auto" ? "auto: a GPU answers" : "as asked"};
  if (name == "auto") return DemoDevice{"sim", "auto: " + gpu.error().message};
  return gpu.error();
}

Result<Place> open_demo_place(const DemoDevice& device, const Options& options) {
  if (device.taken == "sim") return open_sim_place(options);
  if (device.taken != "host") return open_cuda_place(*cuda_ordinal(device.taken), options);
  Result<Allocator> memory = open_host(options);
  if (!memory) return memory.error();
  return Place::host(*std::move(memory));
}

}  // namespace quarry::tools
