// The demonstration `gpu`: what the allocator keeps when tensors come and go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/ledger.h>
#include <quarry/allocator/options.h>

#include "tools/demo/place.h"

namespace quarry::tools {

struct GpuStep {
  std::string name;
  Ledger ledger;
};

// Equal tensors, every second one freed, then one request for as much as was freed.
struct HolesRun {
  Policy policy = Policy::paged;
  std::int64_t tensors = 0;
  Dims sizes;
  Bytes freed;    // requested bytes of the freed ones, and of the request
  Ledger full;    // all tensors there
  Ledger holes;   // every second one freed
  Ledger larger;  // with the request
  Bytes grown;    // what it added to reserved
};

struct GpuDemo {
  std::int64_t tensors = 5;
  Dims sizes = {2000, 2000};
  Bytes storage;  // of one
  std::vector<GpuStep> steps;
  std::vector<HolesRun> holes;  // large and small tensors under both policies
};

// In spaces of their own on `device`.
Result<GpuDemo> run_gpu_demo(const DemoDevice& device);

}  // namespace quarry::tools
