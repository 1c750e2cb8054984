#include <quarry/tensor/memory.h>

namespace quarry {

TensorBytes bytes_of(const Tensor& tensor) {
  const std::uint64_t element = element_size(tensor.dtype());
  const Reach span = reach(tensor.layout());
  const auto bytes = [element](std::int64_t elements) { return Bytes{static_cast<std::uint64_t>(elements) * element}; };
  return {{sizeof(Tensor)},
          bytes(tensor.count()),
          bytes(span.end - span.begin),
          bytes(count_places(tensor.layout())),
          tensor.storage()->size(),
          tensor.storage()->block_size()};
}

std::int64_t storage_users(const Tensor& tensor) { return static_cast<std::int64_t>(tensor.storage().use_count()); }

}  // namespace quarry
