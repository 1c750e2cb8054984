// The loop every host operation runs: rows along the innermost dimension, dimensions merged where all operands allow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <quarry/tensor/shape.h>

namespace quarry {

// Sizes and N operands' strides, with as few dimensions as they need; at least one, unless an element is missing.
template <std::size_t N>
struct LoopShape {
  std::size_t dims = 0;
  std::array<std::int64_t, kMaxDims> sizes{};
  std::array<std::array<std::int64_t, N>, kMaxDims> strides{};
  bool empty = false;
};

template <std::size_t N>
LoopShape<N> loop_shape(const Dims& sizes, const std::array<const Dims*, N>& strides) {
  LoopShape<N> shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) shape.empty = true;
    if (sizes[i] == 1) continue;
    bool continues = shape.dims > 0;
    for (std::size_t k = 0; k < N && continues; ++k) {
      continues = shape.strides[shape.dims - 1][k] == (*strides[k])[i] * sizes[i];
    }
    if (!continues) shape.sizes[shape.dims++] = 1;
    shape.sizes[shape.dims - 1] *= sizes[i];
    for (std::size_t k = 0; k < N; ++k) shape.strides[shape.dims - 1][k] = (*strides[k])[i];
  }
  if (shape.dims == 0) shape.sizes[shape.dims++] = 1;
  return shape;
}

// Calls row(offsets, steps, length) for each row, in order; all counted in elements.
template <std::size_t N, class Row>
void for_each_row(const Dims& sizes, const std::array<const Dims*, N>& strides, Row row) {
  const LoopShape<N> shape = loop_shape(sizes, strides);
  if (shape.empty) return;
  const std::size_t outer = shape.dims - 1;
  std::array<std::int64_t, kMaxDims> index{};
  std::array<std::int64_t, N> offsets{};
  for (;;) {
    row(offsets, shape.strides[outer], shape.sizes[outer]);
    std::size_t dim = outer;
    for (;;) {
      if (dim == 0) return;
      --dim;
      for (std::size_t k = 0; k < N; ++k) offsets[k] += shape.strides[dim][k];
      if (++index[dim] < shape.sizes[dim]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= shape.strides[dim][k] * shape.sizes[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace quarry
