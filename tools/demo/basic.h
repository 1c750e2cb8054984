// The demonstration `basic`: how large a tensor is depends on what is meant.
#pragma once

#include <string>
#include <vector>

#include <quarry/tensor/memory.h>

#include "tools/demo/place.h"

namespace quarry::tools {

// What one tensor, alone in a space, takes there.
struct PolicyCost {
  Bytes block;     // cut for the storage
  Bytes reserved;  // got from the driver
};

struct BasicRow {
  Dims sizes;
  TensorBytes bytes;  // under the default policy
  PolicyCost paged;
  PolicyCost pytorch;
};

struct BasicDemo {
  DType dtype = DType::f32;
  std::vector<BasicRow> rows;  // 6 elements, 10 x 10, 1000 x 1000, 10000 x 10000
};

// Nothing is written to the tensors: only the sizes matter.
Result<BasicDemo> run_basic_demo(const DemoDevice& device);

}  // namespace quarry::tools
