// A shared library for dlpack_numpy.py: tensors of ours to NumPy, arrays of NumPy to us.
#include <quarry/allocator/allocator.h>
#include <quarry/tensor/dlpack.h>
#include <quarry/tensor/ops.h>

namespace {

using namespace quarry;

const Place& host() {
  static const Place place = Place::host(*open_host());
  return place;
}

// 0, 1, 2, .. as 3 x 4, transposed, without its first row: 3 x 3 with an offset.
Tensor example(DType dtype) {
  const Tensor numbers = *arange(host(), 12, DType::i32)->view({3, 4});
  return *numbers.to(dtype)->transpose(0, 1)->slice(0, 1);
}

template <class Form>
double total(Form* managed) {
  const Result<Tensor> tensor = from_dlpack(managed, host());
  if (!tensor) return -1;
  double weighted = 0;  // the order of the elements counts
  const std::vector<double> values = *tensor->to(DType::f64)->values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) weighted += static_cast<double>(i + 1) * values[i];
  return weighted;
}

}  // namespace

#define QUARRY_EXPORTED extern "C" __attribute__((visibility("default")))

QUARRY_EXPORTED void* quarry_export(int dtype) { return *to_dlpack(example(static_cast<DType>(dtype))); }
QUARRY_EXPORTED void* quarry_export_unversioned(int dtype) {
  return *to_dlpack_unversioned(example(static_cast<DType>(dtype)));
}
QUARRY_EXPORTED void quarry_delete(void* managed) {
  auto* const form = static_cast<dlpack::ManagedVersioned*>(managed);
  form->deleter(form);
}
QUARRY_EXPORTED void quarry_delete_unversioned(void* managed) {
  auto* const form = static_cast<dlpack::Managed*>(managed);
  form->deleter(form);
}
// sum of (i + 1) * element i, or -1 for an array we refuse.
QUARRY_EXPORTED double quarry_total(void* managed) { return total(static_cast<dlpack::ManagedVersioned*>(managed)); }
QUARRY_EXPORTED double quarry_total_unversioned(void* managed) { return total(static_cast<dlpack::Managed*>(managed)); }
QUARRY_EXPORTED unsigned long quarry_live_blocks() { return host().memory().ledger().live_blocks; }
