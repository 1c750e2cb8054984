#include "tools/demo/basic.h"

namespace quarry::tools {
namespace {

struct Measured {
  TensorBytes bytes;
  PolicyCost cost;
};

// The space is empty before and after.
Result<Measured> measure(const Place& place, const Dims& sizes, DType dtype) {
  Measured measured;
  {
    const Result<Tensor> tensor = empty(place, sizes, dtype);
    if (!tensor) return tensor.error();
    measured.bytes = bytes_of(*tensor);
    measured.cost = {measured.bytes.block, place.memory().ledger().reserved};
  }
  place.memory().empty_cache();
  return measured;
}

Result<Place> open_with(const DemoDevice& device, Policy policy) {
  Options options;
  options.policy = policy;
  return open_demo_place(device, options);
}

}  // namespace

Result<BasicDemo> run_basic_demo(const DemoDevice& device) {
  const Result<Place> paged = open_with(device, Policy::paged);
  if (!paged) return paged.error();
  const Result<Place> pytorch = open_with(device, Policy::pytorch);
  if (!pytorch) return pytorch.error();
  BasicDemo demo;
  for (const Dims& sizes : {Dims{6}, Dims{10, 10}, Dims{1000, 1000}, Dims{10000, 10000}}) {
    const Result<Measured> ours = measure(*paged, sizes, demo.dtype);
    if (!ours) return ours.error();
    const Result<Measured> theirs = measure(*pytorch, sizes, demo.dtype);
    if (!theirs) return theirs.error();
    demo.rows.push_back({sizes, ours->bytes, ours->cost, theirs->cost});
  }
  return demo;
}

}  // namespace quarry::tools
