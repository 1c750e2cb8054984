#include "tools/demo/mlp.h"

namespace quarry::tools {

MlpEstimate estimate_training(const MlpShape& shape) {
  MlpEstimate estimate;
  std::int64_t kept = shape.widths.front();  // numbers of one sample
  for (std::size_t i = 1; i < shape.widths.size(); ++i) {
    estimate.parameter_count += shape.widths[i - 1] * shape.widths[i] + shape.widths[i];
    kept += shape.widths[i];
  }
  const std::uint64_t element = element_size(shape.dtype);
  const auto bytes = [element](std::int64_t count) { return Bytes{static_cast<std::uint64_t>(count) * element}; };
  estimate.parameters = bytes(estimate.parameter_count);
  estimate.gradients = estimate.parameters;
  estimate.optimizer = estimate.parameters * 2;
  estimate.activations = bytes(shape.batch * kept);
  return estimate;
}

}  // namespace quarry::tools
