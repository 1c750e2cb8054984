// The demonstration `dtype`: what the type of the elements costs.
#pragma once

#include <vector>

#include <quarry/tensor/memory.h>

#include "tools/demo/place.h"

namespace quarry::tools {

struct DTypeRow {
  DType dtype;
  TensorBytes bytes;  // of `elements` elements
};

struct DTypeDemo {
  std::int64_t elements = 1'000'000;
  std::vector<DTypeRow> rows;  // every dtype
};

Result<DTypeDemo> run_dtype_demo(const DemoDevice& device);

}  // namespace quarry::tools
