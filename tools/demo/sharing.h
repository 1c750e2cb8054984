// The demonstration `sharing`: views share a storage, and any of them keeps all of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/tensor/memory.h>

#include "tools/demo/place.h"

namespace quarry::tools {

// A tensor made from the 1000 x 1000 one, compared with it.
struct ViewRow {
  std::string name;
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;  // in elements
  bool dense = false;
  bool same_pointer = false;
  bool same_storage = false;
  TensorBytes bytes;
  double sum = 0;  // of its elements, after 1 was written through `[500:, 500:]`
};

// A small slice of a large tensor in host memory, and what it keeps.
struct KeptStep {
  std::string name;
  Bytes logical;  // of the tensor that is looked at
  Bytes storage;  // of the same
  Bytes allocated;
  Bytes reserved;
  Bytes resident;  // RSS of this process
};

struct SharingDemo {
  std::vector<ViewRow> views;  // the 1000 x 1000 tensor first
  std::int64_t users = 0;      // tensors that keep its storage alive
  std::vector<KeptStep> kept;
};

// The views on `device`; the large tensor always in this process's memory, where the operating system says what is
// touched: of its 2,400,000,000 B only the slice is.
Result<SharingDemo> run_sharing_demo(const DemoDevice& device);

}  // namespace quarry::tools
