// From tensors to work: who does it, on which stream, and who is told.
#pragma once

#include <initializer_list>

#include <quarry/tensor/tensor.h>
#include <quarry/tensor/work.h>

namespace quarry {

// A tensor as an operand of work with `sizes`, which it broadcasts to.
Operand operand(const Tensor& tensor, const Dims& sizes);
// The same for strides that were worked out by the caller.
Operand operand_with(const Tensor& tensor, const Dims& strides);

// Does `work`, whose operands are `out` and `in`, or queues it: where one of them is on a device, on the stream of the
// first such tensor; on the host otherwise, after all that is queued on their storages. Everything but a transfer has
// all its operands in one memory (CHECK).
Status execute(const Work& work, const Tensor& out, std::initializer_list<const Tensor*> in);

// An error where an element would be written twice, or where `out` overlaps itself.
Status check_writable(const Tensor& out, const char* what);
// `input`, or a copy of it if work that writes `out` would change it before it is read.
Result<Tensor> apart_from(const Tensor& input, const Tensor& out);

}  // namespace quarry
