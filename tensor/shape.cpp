#include <quarry/tensor/shape.h>

#include <algorithm>

#include <quarry/tensor/error.h>

namespace quarry {

std::string text(const Dims& dims) {
  std::string result = "[";
  for (const std::int64_t value : dims) {
    if (result.size() > 1) result += ", ";
    result += std::to_string(value);
  }
  return result + "]";
}

Result<std::int64_t> count_elements(const Dims& sizes) {
  std::int64_t most = 1;  // as if sizes of 0 were 1
  bool none = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return invalid("sizes " + text(sizes) + ": a size is negative");
    none = none || size == 0;
    const std::int64_t factor = std::max<std::int64_t>(size, 1);
    if (most > kMostElements / factor) return invalid("sizes " + text(sizes) + ": more than 2^59 elements");
    most *= factor;
  }
  return none ? 0 : most;
}

Dims dense_strides(const Dims& sizes) {
  Dims strides = sizes;
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const std::size_t missing = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = result[missing + i];
    if (size == 1) size = shorter[i];
    if (shorter[i] != size && shorter[i] != 1) {
      return invalid("sizes " + text(a) + " and " + text(b) + " do not broadcast");
    }
  }
  return result;
}

}  // namespace quarry
