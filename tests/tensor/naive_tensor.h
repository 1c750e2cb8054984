// What a chain of views must read: every step copies all elements, one index at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <quarry/tensor/shape.h>

namespace quarry::tensor_tests {

struct NaiveTensor {
  Dims sizes;
  std::vector<std::int32_t> values;  // in order, the last dimension innermost

  std::int32_t at(const Dims& index) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) place = place * sizes[i] + index[i];
    return values[static_cast<std::size_t>(place)];
  }

  // A tensor of `new_sizes` whose element at an index is this one's at source(index).
  NaiveTensor gather(const Dims& new_sizes, const std::function<Dims(const Dims&)>& source) const {
    NaiveTensor result{new_sizes, {}};
    std::int64_t count = 1;
    for (const std::int64_t size : new_sizes) count *= size;
    for (std::int64_t place = 0; place < count; ++place) {
      Dims index = new_sizes;
      std::int64_t rest = place;
      for (std::size_t i = new_sizes.size(); i-- > 0;) {
        index[i] = rest % new_sizes[i];
        rest /= new_sizes[i];
      }
      result.values.push_back(at(source(index)));
    }
    return result;
  }
};

}  // namespace quarry::tensor_tests
