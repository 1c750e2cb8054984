// How much memory a tensor is: six numbers that are often taken for one.
#pragma once

#include <cstdint>

#include <quarry/allocator/types.h>
#include <quarry/tensor/tensor.h>

namespace quarry {

struct TensorBytes {
  Bytes handle;   // the C++ value itself: sizes, strides, a pointer
  Bytes logical;  // element size x number of elements: more than the storage where a stride is 0
  Bytes spanned;  // from the first byte it reaches to the last
  Bytes reached;  // bytes some element lies on, each once (see count_places)
  Bytes storage;  // what all its views share and it keeps alive
  Bytes block;    // what the allocator took for the storage; 0 for memory of someone else
};
TensorBytes bytes_of(const Tensor& tensor);

// Tensors that keep the same storage alive, this one counted. Exact while no other thread copies one.
std::int64_t storage_users(const Tensor& tensor);

}  // namespace quarry
