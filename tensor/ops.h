// Arithmetic on tensors. Operands are in one memory and of one dtype (a cast is never implied); they broadcast.
//
// The result is a new tensor in the place of the first operand; the _into form writes into `out`, which may be an
// operand: add_into(x, x, y) adds in place. Errors are `invalid` (sizes, dtypes, places that do not match) and
// `unsupported` (dtypes an operation does not have), one line each.
#pragma once

#include <cstdint>
#include <optional>

#include <quarry/tensor/tensor.h>

namespace quarry {

// Integers wrap; bool has no arithmetic; div and sqrt are of floating types.
Result<Tensor> add(const Tensor& a, const Tensor& b);
Result<Tensor> sub(const Tensor& a, const Tensor& b);
Result<Tensor> mul(const Tensor& a, const Tensor& b);
Result<Tensor> div(const Tensor& a, const Tensor& b);
Result<Tensor> add(const Tensor& a, Scalar b);
Result<Tensor> sub(const Tensor& a, Scalar b);
Result<Tensor> mul(const Tensor& a, Scalar b);
Result<Tensor> div(const Tensor& a, Scalar b);
Result<Tensor> sqrt(const Tensor& a);
Result<Tensor> relu(const Tensor& a);  // negative numbers become 0

Status add_into(const Tensor& out, const Tensor& a, const Tensor& b);
Status sub_into(const Tensor& out, const Tensor& a, const Tensor& b);
Status mul_into(const Tensor& out, const Tensor& a, const Tensor& b);
Status div_into(const Tensor& out, const Tensor& a, const Tensor& b);
Status add_into(const Tensor& out, const Tensor& a, Scalar b);
Status sub_into(const Tensor& out, const Tensor& a, Scalar b);
Status mul_into(const Tensor& out, const Tensor& a, Scalar b);
Status div_into(const Tensor& out, const Tensor& a, Scalar b);
Status sqrt_into(const Tensor& out, const Tensor& a);
Status relu_into(const Tensor& out, const Tensor& a);

// Element by element, into bool. NaN equals nothing.
Result<Tensor> equal_elements(const Tensor& a, const Tensor& b);
// Same sizes and all elements equal. Waits for the answer.
Result<bool> equal(const Tensor& a, const Tensor& b);

// (m, k) x (k, n). f64 is added up in f64, all others in f32.
Result<Tensor> matmul(const Tensor& a, const Tensor& b);
Status matmul_into(const Tensor& out, const Tensor& a, const Tensor& b);

// Of all elements (a tensor without dimensions), or along `dim`, which goes. Sums are kept in f64 or i64: sum of
// integers and bool is i64, of the others their dtype; mean is of floating types. min and max of no elements are
// errors; NaN wins.
Result<Tensor> sum(const Tensor& a, std::optional<std::int64_t> dim = {});
Result<Tensor> mean(const Tensor& a, std::optional<std::int64_t> dim = {});
Result<Tensor> min(const Tensor& a, std::optional<std::int64_t> dim = {});
Result<Tensor> max(const Tensor& a, std::optional<std::int64_t> dim = {});

}  // namespace quarry
