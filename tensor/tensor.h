// A tensor: a view of a storage. A value that is cheap to copy; copies and views share the bytes, `clone` does not.
//
// Work runs in the tensor's place: at once in host memory, queued on the place's stream on a device. Reading on the
// host (values, item, equal) waits for it. Between streams the program sees to the order (Place::wait_for), as it does
// with any device work; the allocator is told of every stream that uses a storage, so its bytes are never reused too
// early.
//
// Errors are one line and leave everything as it was, but for work that a driver refused half-way. Functions that end
// in _ write into their tensor. Threads: as for Storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <quarry/tensor/dtype.h>
#include <quarry/tensor/layout.h>
#include <quarry/tensor/place.h>
#include <quarry/tensor/scalar.h>
#include <quarry/tensor/storage.h>

namespace quarry {

class Tensor {
 public:
  // The layout must lie within the storage (CHECK). `place` is in the memory of the storage: it says which stream.
  Tensor(std::shared_ptr<Storage> storage, Place place, DType dtype, const Layout& layout);

  const Dims& sizes() const { return layout_.sizes; }
  const Dims& strides() const { return layout_.strides; }  // in elements
  std::int64_t offset() const { return layout_.offset; }   // in elements
  const Layout& layout() const { return layout_; }
  std::int64_t count() const { return layout_.count(); }
  DType dtype() const { return dtype_; }
  const Place& place() const { return place_; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  bool is_dense() const { return layout_.is_dense(); }
  void* data() const;  // element 0; waits for nothing
  bool shares_storage_with(const Tensor& other) const { return storage_ == other.storage_; }

  // The same elements, with its work queued on another stream of the same device.
  Tensor on(void* native_stream) const { return {storage_, place_.on(native_stream), dtype_, layout_}; }

  // Views; what they mean is in layout.h.
  Result<Tensor> slice(std::int64_t dim, std::int64_t begin,
                       std::int64_t end = std::numeric_limits<std::int64_t>::max(), std::int64_t step = 1) const;
  Result<Tensor> select(std::int64_t dim, std::int64_t index) const;
  Result<Tensor> narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  Result<Tensor> transpose(std::int64_t a, std::int64_t b) const;
  Result<Tensor> permute(const Dims& order) const;
  Result<Tensor> view(const Dims& sizes) const;
  Result<Tensor> reshape(const Dims& sizes) const;  // a view where that is possible, else a copy
  Result<Tensor> expand(const Dims& sizes) const;
  Tensor squeeze() const;
  Result<Tensor> squeeze(std::int64_t dim) const;
  Result<Tensor> unsqueeze(std::int64_t dim) const;

  // Copies. `contiguous` gives this tensor where it is dense; `to` where nothing changes.
  Result<Tensor> clone() const;
  Result<Tensor> contiguous() const;
  Result<Tensor> to(DType dtype) const { return to(place_, dtype); }
  Result<Tensor> to(const Place& place) const { return to(place, dtype_); }
  // Between pinned and device memory asynchronous, on the device's stream; with pageable memory finished on return.
  Result<Tensor> to(const Place& place, DType dtype) const;
  // Broadcasts `from` to the sizes of this tensor and casts. The two may overlap in any way; this tensor must not
  // overlap itself.
  Status copy_(const Tensor& from) const;
  Status fill_(Scalar value) const;

  // Waits on the host for all work on the storage.
  Status synchronize() const { return storage_->wait(); }
  // All elements in order, on the host. T is the element type; other dtypes are an error.
  template <class T>
  Result<std::vector<T>> values() const;
  // Of a tensor with one element.
  Result<double> item() const;

 private:
  Tensor with(const Layout& layout) const { return {storage_, place_, dtype_, layout}; }
  Result<Tensor> with(const Result<Layout>& layout) const;
  Status read(DType dtype, void* into) const;

  std::shared_ptr<Storage> storage_;
  Place place_;
  DType dtype_;
  Layout layout_;
};

// New tensors; dense. Errors: sizes (count_elements), what the allocator says, and dtypes that cannot be computed with.
Result<Tensor> empty(const Place& place, const Dims& sizes, DType dtype = DType::f32);  // whatever the bytes were
Result<Tensor> zeros(const Place& place, const Dims& sizes, DType dtype = DType::f32);
Result<Tensor> ones(const Place& place, const Dims& sizes, DType dtype = DType::f32);
Result<Tensor> full(const Place& place, const Dims& sizes, Scalar value, DType dtype = DType::f32);
// start, start + step, ..: `count` numbers.
Result<Tensor> arange(const Place& place, std::int64_t count, DType dtype = DType::f32, Scalar start = 0,
                      Scalar step = 1);

// Seeds for `rand`: the same seed gives the same tensors, in every place.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();

 private:
  std::uint64_t state_;
};
// Uniform in [0, 1); floating types.
Result<Tensor> rand(const Place& place, const Dims& sizes, Generator& generator, DType dtype = DType::f32);

// A copy of `bytes`, which are the elements in order.
Result<Tensor> from_bytes(const Place& place, const Dims& sizes, DType dtype, std::span<const std::byte> bytes);
template <class T>
Result<Tensor> from_data(const Place& place, const Dims& sizes, const std::vector<T>& values) {
  return from_bytes(place, sizes, dtype_of<T>(), std::as_bytes(std::span(values)));
}

// The member of Tensor above: vector<bool> has no bytes of its own, so bool is read as u8 (0 or 1).
template <class T>
Result<std::vector<T>> Tensor::values() const {
  std::vector<T> result(static_cast<std::size_t>(count()));
  const DType wanted = std::is_same_v<T, std::uint8_t> && dtype_ == DType::boolean ? DType::boolean : dtype_of<T>();
  if (Status done = read(wanted, result.data()); !done) return done.error();
  return result;
}

}  // namespace quarry
