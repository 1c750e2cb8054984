#include <quarry/tensor/tensor.h>

#include <string>

#include <quarry/allocator/check.h>
#include <quarry/tensor/error.h>
#include <quarry/tensor/execute.h>

namespace quarry {

Tensor::Tensor(std::shared_ptr<Storage> storage, Place place, DType dtype, const Layout& layout)
    : storage_(std::move(storage)), place_(std::move(place)), dtype_(dtype), layout_(layout) {
  const Reach span = reach(layout_);
  const std::uint64_t elements = storage_->size().count / element_size(dtype_);
  QUARRY_CHECK(span.begin >= 0 && static_cast<std::uint64_t>(span.end) <= elements, "a view lies within its storage");
  QUARRY_CHECK(same_memory(place_, storage_->home()), "a tensor lies in the memory of its storage");
}

void* Tensor::data() const {
  const auto size = static_cast<std::int64_t>(element_size(dtype_));
  return static_cast<std::byte*>(storage_->data()) + layout_.offset * size;
}

// Views ---------------------------------------------------------------------------------------------------------------

Result<Tensor> Tensor::with(const Result<Layout>& layout) const {
  if (!layout) return layout.error();
  return with(*layout);
}

Result<Tensor> Tensor::slice(std::int64_t dim, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  return with(quarry::slice(layout_, dim, begin, end, step));
}
Result<Tensor> Tensor::select(std::int64_t dim, std::int64_t index) const {
  return with(quarry::select(layout_, dim, index));
}
Result<Tensor> Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  return with(quarry::narrow(layout_, dim, start, length));
}
Result<Tensor> Tensor::transpose(std::int64_t a, std::int64_t b) const {
  return with(quarry::transpose(layout_, a, b));
}
Result<Tensor> Tensor::permute(const Dims& order) const { return with(quarry::permute(layout_, order)); }
Result<Tensor> Tensor::view(const Dims& sizes) const { return with(quarry::view(layout_, sizes)); }
Result<Tensor> Tensor::expand(const Dims& sizes) const { return with(quarry::expand(layout_, sizes)); }
Tensor Tensor::squeeze() const { return with(quarry::squeeze(layout_)); }
Result<Tensor> Tensor::squeeze(std::int64_t dim) const { return with(quarry::squeeze(layout_, dim)); }
Result<Tensor> Tensor::unsqueeze(std::int64_t dim) const { return with(quarry::unsqueeze(layout_, dim)); }

Result<Tensor> Tensor::reshape(const Dims& sizes) const {
  const Result<Dims> wanted = infer_sizes(layout_, sizes);
  if (!wanted) return wanted.error();
  if (Result<Layout> same = quarry::view(layout_, *wanted)) return with(*same);
  const Result<Tensor> dense = contiguous();
  if (!dense) return dense.error();
  return dense->view(*wanted);
}

// Copies --------------------------------------------------------------------------------------------------------------

Result<Tensor> Tensor::clone() const {
  Result<Tensor> copy = empty(place_, sizes(), dtype_);
  if (!copy) return copy;
  if (Status done = copy->copy_(*this); !done) return done.error();
  return copy;
}

Result<Tensor> Tensor::contiguous() const { return is_dense() ? Result<Tensor>(*this) : clone(); }

Result<Tensor> Tensor::to(const Place& place, DType dtype) const {
  const bool stays = same_memory(place, place_) && place.native_stream() == place_.native_stream();
  if (stays && dtype == dtype_) return *this;
  Result<Tensor> copy = empty(place, sizes(), dtype);
  if (!copy) return copy;
  if (Status done = copy->copy_(*this); !done) return done.error();
  return copy;
}

namespace {

// Both in one memory; broadcasts, casts.
Status copy_within(const Tensor& to, const Tensor& from) {
  const Result<Tensor> apart = apart_from(from, to);
  if (!apart) return apart.error();
  Work work;
  work.op = Op::copy;
  work.sizes = to.sizes();
  work.out = operand(to, to.sizes());
  work.in[0] = operand(*apart, to.sizes());
  work.inputs = 1;
  return execute(work, to, {&*apart});
}

// Between a device and the host dense bytes travel: whatever has to be done to the elements is done on either side.
Status copy_across(const Tensor& to, const Tensor& from) {
  if (to.place().kind() == PlaceKind::device && from.place().kind() == PlaceKind::device) {
    return unsupported("copy_: from one device to another");
  }
  const Result<Tensor> cast = from.to(to.dtype());
  if (!cast) return cast.error();
  const Result<Tensor> wide = cast->expand(to.sizes());
  if (!wide) return wide.error();
  const Result<Tensor> source = wide->contiguous();
  if (!source) return source.error();
  const Result<Tensor> target = to.is_dense() ? Result<Tensor>(to) : empty(to.place(), to.sizes(), to.dtype());
  if (!target) return target.error();
  Work work;
  work.op = Op::transfer;
  work.sizes = to.sizes();
  work.out = operand(*target, to.sizes());
  work.in[0] = operand(*source, to.sizes());
  work.inputs = 1;
  if (Status done = execute(work, *target, {&*source}); !done) return done;
  return to.is_dense() ? Status(Done{}) : copy_within(to, *target);
}

}  // namespace

Status Tensor::copy_(const Tensor& from) const {
  const Result<Dims> both = broadcast(sizes(), from.sizes());
  if (!both || *both != sizes()) {
    return invalid("copy_: sizes " + text(from.sizes()) + " do not broadcast to " + text(sizes()));
  }
  if (dtype_ != from.dtype() && !(is_number(dtype_) && is_number(from.dtype()))) {
    return unsupported("copy_: " + std::string(name(from.dtype())) + " to " + std::string(name(dtype_)));
  }
  if (Status sound = check_writable(*this, "copy_"); !sound) return sound;
  return same_memory(place_, from.place()) ? copy_within(*this, from) : copy_across(*this, from);
}

Status Tensor::fill_(Scalar value) const {
  const bool zero = value.real == 0;
  if (!zero && (dtype_ == DType::f8_e4m3 || dtype_ == DType::f8_e5m2)) {
    return unsupported("fill_: " + std::string(name(dtype_)) + " with anything but 0");
  }
  if (Status sound = check_writable(*this, "fill_"); !sound) return sound;
  Work work;
  work.op = Op::fill;
  work.sizes = sizes();
  work.out = operand(*this, sizes());
  work.value = element_of(value, dtype_);
  return execute(work, *this, {});
}

// Reading -------------------------------------------------------------------------------------------------------------

Status Tensor::read(DType dtype, void* into) const {
  if (dtype != dtype_) {
    return invalid("values: the elements are " + std::string(name(dtype_)) + ", not " + std::string(name(dtype)));
  }
  if (count() == 0) return Done{};
  if (Status done = synchronize(); !done) return done;
  const Result<Tensor> source = place_.kind() == PlaceKind::device ? contiguous() : Result<Tensor>(*this);
  if (!source) return source.error();
  Work work;
  work.op = source->place().kind() == PlaceKind::device ? Op::transfer : Op::copy;
  work.sizes = sizes();
  work.out = {into, dtype_, dense_strides(sizes()), false};  // memory of the caller, which no allocator knows
  work.in[0] = operand(*source, sizes());
  work.inputs = 1;
  if (work.op == Op::copy) {
    run_on_host(work);
    return Done{};
  }
  const Place& queue = source->place();
  if (Status queued = queue.executor()->run(work, queue.native_stream()); !queued) return queued;
  return queue.synchronize();
}

Result<double> Tensor::item() const {
  if (count() != 1) return invalid("item: sizes " + text(sizes()) + " are not one element");
  if (Status done = synchronize(); !done) return done.error();
  const Result<Tensor> wide = to(DType::f64);
  if (!wide) return wide.error();
  const Result<std::vector<double>> values = wide->values<double>();
  if (!values) return values.error();
  return values->front();
}

}  // namespace quarry
