// A network of linear layers with ReLU between them, and the memory a training step of it is said to take.
#pragma once

#include <cstdint>
#include <vector>

#include <quarry/allocator/types.h>
#include <quarry/tensor/dtype.h>

namespace quarry::tools {

struct MlpShape {
  std::vector<std::int64_t> widths;  // of the input, then of what each linear layer gives; two or more, all above 0
  std::int64_t batch = 1;
  DType dtype = DType::f32;  // f32 or f64
};

// Bytes, but for the first.
struct MlpEstimate {
  std::int64_t parameter_count = 0;
  Bytes parameters;
  Bytes gradients;    // as large as the parameters
  Bytes optimizer;    // Adam: two numbers for each parameter
  Bytes activations;  // the input and what each linear layer gives; ReLU works in place and keeps nothing of its own

  Bytes total() const { return parameters + gradients + optimizer + activations; }
};

// P + G + 2P + activations, the tutorial's formula for Adam in one precision (reference/estimator.md section 1).
MlpEstimate estimate_training(const MlpShape& shape);

}  // namespace quarry::tools
