#include <quarry/tensor/execute.h>

#include <string>

#include <quarry/allocator/check.h>
#include <quarry/tensor/error.h>

namespace quarry {

Operand operand_with(const Tensor& tensor, const Dims& strides) {
  return {tensor.data(), tensor.dtype(), strides, tensor.place().kind() != PlaceKind::host};
}

Operand operand(const Tensor& tensor, const Dims& sizes) {
  Dims strides = Dims::of(sizes.size(), 0);
  const std::size_t missing = sizes.size() - tensor.sizes().size();
  for (std::size_t i = 0; i < tensor.sizes().size(); ++i) {
    if (tensor.sizes()[i] != 1) strides[missing + i] = tensor.strides()[i];
  }
  return operand_with(tensor, strides);
}

namespace {

Status execute_on_host(const Work& work, const Tensor& out, std::initializer_list<const Tensor*> in) {
  if (Status done = out.synchronize(); !done) return done;
  for (const Tensor* tensor : in) {
    if (Status done = tensor->synchronize(); !done) return done;
  }
  run_on_host(work);
  return Done{};
}

}  // namespace

Status execute(const Work& work, const Tensor& out, std::initializer_list<const Tensor*> in) {
  if (out.count() == 0) return Done{};
  const Tensor* on_device = out.place().kind() == PlaceKind::device ? &out : nullptr;
  bool waits = out.place().kind() == PlaceKind::host;
  for (const Tensor* tensor : in) {
    if (on_device == nullptr && tensor->place().kind() == PlaceKind::device) on_device = tensor;
    waits = waits || tensor->place().kind() == PlaceKind::host;
    QUARRY_CHECK(work.op == Op::transfer || same_memory(tensor->place(), out.place()), "operands in one memory");
  }
  if (on_device == nullptr) return execute_on_host(work, out, in);

  const Place& queue = on_device->place();
  const Status queued = queue.executor()->run(work, queue.native_stream());
  // Also after an error: a part of it may be queued.
  out.storage()->used_on(queue);
  for (const Tensor* tensor : in) tensor->storage()->used_on(queue);
  if (!queued) return queued;
  return waits ? queue.synchronize() : Status(Done{});
}

Status check_writable(const Tensor& out, const char* what) {
  if (!overlaps_itself(out.layout())) return Done{};
  return invalid(std::string(what) + ": sizes " + text(out.sizes()) + " with strides " + text(out.strides()) +
                 " write to one place twice");
}

Result<Tensor> apart_from(const Tensor& input, const Tensor& out) {
  if (!input.shares_storage_with(out)) return input;
  const auto bytes = [](const Tensor& tensor) {
    const Reach span = reach(tensor.layout());
    const auto size = static_cast<std::int64_t>(element_size(tensor.dtype()));
    return Reach{span.begin * size, span.end * size};
  };
  const Reach read = bytes(input);
  const Reach written = bytes(out);
  const bool meet = read.begin < written.end && written.begin < read.end;
  // The same view element for element is read before it is written.
  const bool same = input.layout() == out.layout() && input.dtype() == out.dtype();
  if (!meet || same) return input;
  return input.clone();
}

}  // namespace quarry
