#include "tools/demo/dtype.h"

namespace quarry::tools {

Result<DTypeDemo> run_dtype_demo(const DemoDevice& device) {
  const Result<Place> place = open_demo_place(device);
  if (!place) return place.error();
  DTypeDemo demo;
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const Result<Tensor> tensor = empty(*place, {demo.elements}, static_cast<DType>(i));
    if (!tensor) return tensor.error();
    demo.rows.push_back({tensor->dtype(), bytes_of(*tensor)});
  }
  return demo;
}

}  // namespace quarry::tools
