#include <quarry/tensor/dlpack.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <quarry/tensor/error.h>

namespace quarry {

namespace {

// By DType.
constexpr std::array<dlpack::DataType, kDTypes> kTypes = {{{dlpack::kBool, 8, 1},
                                                           {dlpack::kUint, 8, 1},
                                                           {dlpack::kInt, 8, 1},
                                                           {dlpack::kInt, 16, 1},
                                                           {dlpack::kInt, 32, 1},
                                                           {dlpack::kInt, 64, 1},
                                                           {dlpack::kFloat, 16, 1},
                                                           {dlpack::kBfloat, 16, 1},
                                                           {dlpack::kFloat, 32, 1},
                                                           {dlpack::kFloat, 64, 1},
                                                           {dlpack::kComplex, 64, 1},
                                                           {dlpack::kComplex, 128, 1},
                                                           {dlpack::kFloat8E4m3fn, 8, 1},
                                                           {dlpack::kFloat8E5m2, 8, 1}}};

// Export --------------------------------------------------------------------------------------------------------------

// What an export owns: the tensor, and the arrays its pointers show to.
template <class Form>
struct Exported {
  explicit Exported(Tensor exported) : tensor(std::move(exported)), layout(tensor.layout()) {}

  Form form{};
  Tensor tensor;
  Layout layout;
};

template <class Form>
Result<Form*> hand_over(const Tensor& tensor) {
  const DlpackDevice device = tensor.place().dlpack();
  if (device == DlpackDevice{})
    return unsupported("to_dlpack: this device has no number there, copy to the host first");
  if (Status done = tensor.synchronize(); !done) return done.error();
  auto exported = std::make_unique<Exported<Form>>(tensor);
  dlpack::Array& array = exported->form.array;
  array.data = tensor.storage()->data();
  array.device = {device.type, device.id};
  array.ndim = static_cast<std::int32_t>(tensor.sizes().size());
  array.dtype = kTypes.at(static_cast<std::size_t>(tensor.dtype()));
  array.shape = &exported->layout.sizes[0];
  array.strides = &exported->layout.strides[0];
  array.byte_offset = static_cast<std::uint64_t>(tensor.offset()) * element_size(tensor.dtype());
  exported->form.context = exported.get();
  exported->form.deleter = [](Form* form) { delete static_cast<Exported<Form>*>(form->context); };
  return &exported.release()->form;
}

// Import --------------------------------------------------------------------------------------------------------------

Result<DType> find_dtype(dlpack::DataType type) {
  const auto* const found = std::find(kTypes.begin(), kTypes.end(), type);
  if (found != kTypes.end()) return static_cast<DType>(found - kTypes.begin());
  return unsupported("from_dlpack: elements of code " + std::to_string(type.code) + ", " + std::to_string(type.bits) +
                     " bits, " + std::to_string(type.lanes) + " lanes");
}

Result<Layout> find_layout(const dlpack::Array& array) {
  if (array.ndim < 0 || array.ndim > static_cast<std::int32_t>(kMaxDims)) {
    return invalid("from_dlpack: " + std::to_string(array.ndim) + " dimensions");
  }
  if (array.ndim > 0 && array.shape == nullptr) return invalid("from_dlpack: no shape");
  Layout layout;
  for (std::int32_t i = 0; i < array.ndim; ++i) layout.sizes.push_back(array.shape[i]);
  const Result<std::int64_t> count = count_elements(layout.sizes);
  if (!count) return invalid("from_dlpack: " + count.error().message);
  layout.strides = dense_strides(layout.sizes);
  if (array.strides == nullptr || *count == 0) return layout;
  std::int64_t below = 0;  // of element 0, in elements
  std::int64_t span = 0;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i] == 1) continue;  // such a stride is never used, and may be anything
    const std::int64_t stride = layout.strides[i] = array.strides[i];
    std::int64_t last = 0;
    const bool wide =
        __builtin_mul_overflow(layout.sizes[i] - 1, stride, &last) || last > kMostElements || last < -kMostElements;
    if (wide || (span += last < 0 ? -last : last) > kMostElements) return invalid("from_dlpack: strides out of range");
    if (last < 0) below -= last;
  }
  layout.offset = below;
  return layout;
}

// Everything about `array` but who owns it. The storage begins at the lowest element.
struct Import {
  DType dtype;
  Layout layout;
  std::byte* begin;
  Bytes size;
};

Result<Import> read_array(const dlpack::Array& array, const Place& place) {
  if (DlpackDevice{array.device.type, array.device.id} != place.dlpack()) {
    return invalid("from_dlpack: the memory is of device " + std::to_string(array.device.type) + ":" +
                   std::to_string(array.device.id) + ", the place is " + std::to_string(place.dlpack().type) + ":" +
                   std::to_string(place.dlpack().id));
  }
  const Result<DType> dtype = find_dtype(array.dtype);
  if (!dtype) return dtype.error();
  const Result<Layout> layout = find_layout(array);
  if (!layout) return layout.error();
  if (layout->count() == 0) return Import{*dtype, *layout, nullptr, {}};
  if (array.data == nullptr) return invalid("from_dlpack: no data");
  const std::size_t size = element_size(*dtype);
  auto* const first = static_cast<std::byte*>(array.data) + array.byte_offset;
  const std::size_t alignment = is_number(*dtype) ? size : std::min<std::size_t>(size, 8);
  if (reinterpret_cast<std::uintptr_t>(first) % alignment != 0) {
    return invalid("from_dlpack: data that is not aligned to its elements");
  }
  const Reach span = reach(*layout);
  return Import{*dtype,
                *layout,
                first - layout->offset * static_cast<std::int64_t>(size),
                {static_cast<std::uint64_t>(span.end) * size}};
}

template <class Form>
void let_go(Form* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class Form>
Result<Tensor> take_over(Form* managed, const Place& place) {
  const Result<Import> read = read_array(managed->array, place);
  if (!read) {
    let_go(managed);
    return read.error();
  }
  std::shared_ptr<Storage> storage = Storage::adopt(place, read->begin, read->size, [managed] { let_go(managed); });
  return Tensor(std::move(storage), place, read->dtype, read->layout);
}

}  // namespace

Result<dlpack::ManagedVersioned*> to_dlpack(const Tensor& tensor) {
  Result<dlpack::ManagedVersioned*> handed = hand_over<dlpack::ManagedVersioned>(tensor);
  if (handed) (*handed)->version = {1, 0};
  return handed;
}

Result<dlpack::Managed*> to_dlpack_unversioned(const Tensor& tensor) { return hand_over<dlpack::Managed>(tensor); }

Result<Tensor> from_dlpack(dlpack::ManagedVersioned* managed, const Place& place) {
  const std::uint32_t major = managed->version.major;
  const bool known = major == 1;
  if (known && (managed->flags & dlpack::kReadOnly) == 0) return take_over(managed, place);
  let_go(managed);
  if (known) return unsupported("from_dlpack: read-only memory, copy it first");
  return unsupported("from_dlpack: version " + std::to_string(major) + " of DLPack, not 1");
}

Result<Tensor> from_dlpack(dlpack::Managed* managed, const Place& place) { return take_over(managed, place); }

}  // namespace quarry
