// New tensors.
#include <string>
#include <utility>

#include <quarry/tensor/elements.h>
#include <quarry/tensor/error.h>
#include <quarry/tensor/execute.h>
#include <quarry/tensor/tensor.h>

namespace quarry {

Result<Tensor> empty(const Place& place, const Dims& sizes, DType dtype) {
  const Result<std::int64_t> count = count_elements(sizes);
  if (!count) return count.error();
  const Bytes size{static_cast<std::uint64_t>(*count) * element_size(dtype)};
  Result<std::shared_ptr<Storage>> storage = Storage::allocate(place, size);
  if (!storage) return storage.error();
  return Tensor(*std::move(storage), place, dtype, dense_layout(sizes));
}

Result<Tensor> full(const Place& place, const Dims& sizes, Scalar value, DType dtype) {
  Result<Tensor> result = empty(place, sizes, dtype);
  if (!result) return result;
  if (Status done = result->fill_(value); !done) return done.error();
  return result;
}

Result<Tensor> zeros(const Place& place, const Dims& sizes, DType dtype) { return full(place, sizes, 0, dtype); }
Result<Tensor> ones(const Place& place, const Dims& sizes, DType dtype) { return full(place, sizes, 1, dtype); }

namespace {

Result<Tensor> generated(const Place& place, const Dims& sizes, DType dtype, Work work) {
  Result<Tensor> result = empty(place, sizes, dtype);
  if (!result) return result;
  work.sizes = sizes;
  work.out = operand(*result, sizes);
  if (Status done = execute(work, *result, {}); !done) return done.error();
  return result;
}

}  // namespace

Result<Tensor> arange(const Place& place, std::int64_t count, DType dtype, Scalar start, Scalar step) {
  if (!is_number(dtype) || dtype == DType::boolean) return unsupported("arange: of " + std::string(name(dtype)));
  if (!is_floating(dtype) && !(start.is_integer && step.is_integer)) {
    return invalid("arange: " + std::string(name(dtype)) + " needs a whole start and step");
  }
  Work work;
  work.op = Op::arange;
  work.range = {start, step};
  return generated(place, {count}, dtype, work);
}

std::uint64_t Generator::next() { return random_bits(state_++, 0); }

Result<Tensor> rand(const Place& place, const Dims& sizes, Generator& generator, DType dtype) {
  if (!is_floating(dtype)) return unsupported("rand: of " + std::string(name(dtype)));
  Work work;
  work.op = Op::random;
  work.seed = generator.next();
  return generated(place, sizes, dtype, work);
}

Result<Tensor> from_bytes(const Place& place, const Dims& sizes, DType dtype, std::span<const std::byte> bytes) {
  const Result<std::int64_t> count = count_elements(sizes);
  if (!count) return count.error();
  const std::uint64_t needed = static_cast<std::uint64_t>(*count) * element_size(dtype);
  if (needed != bytes.size()) {
    return invalid("from_data: sizes " + text(sizes) + " of " + std::string(name(dtype)) + " are " +
                   std::to_string(needed) + " bytes, not " + std::to_string(bytes.size()));
  }
  Result<Tensor> result = empty(place, sizes, dtype);
  if (!result || *count == 0) return result;
  Work work;
  work.op = Op::transfer;
  work.sizes = sizes;
  work.out = operand(*result, sizes);
  work.in[0] = {const_cast<std::byte*>(bytes.data()), dtype, dense_strides(sizes), false};
  work.inputs = 1;
  if (Status done = execute(work, *result, {}); !done) return done.error();
  if (Status done = place.synchronize(); !done) return done.error();  // the caller's bytes may go
  return result;
}

}  // namespace quarry
