#include <quarry/tensor/ops.h>

#include <string>

#include <quarry/tensor/error.h>
#include <quarry/tensor/execute.h>

namespace quarry {

namespace {

std::string words(Op op) { return name(op); }

Status check_dtype(Op op, DType dtype) {
  const bool floating_only = op == Op::div || op == Op::sqrt;
  const bool any_number = op == Op::equal;
  const bool has = floating_only ? is_floating(dtype) : is_number(dtype) && (any_number || dtype != DType::boolean);
  if (has) return Done{};
  return unsupported(words(op) + ": of " + std::string(name(dtype)));
}

Status check_alike(Op op, const Tensor& a, const Tensor& b) {
  if (!same_memory(a.place(), b.place())) return invalid(words(op) + ": the operands are in two memories");
  if (a.dtype() == b.dtype()) return Done{};
  return invalid(words(op) + ": " + std::string(name(a.dtype())) + " and " + std::string(name(b.dtype())) +
                 ", cast one of them");
}

Status check_out(Op op, const Tensor& out, const Tensor& a, const Dims& sizes, DType dtype) {
  if (!same_memory(out.place(), a.place())) return invalid(words(op) + ": the result is in another memory");
  if (out.dtype() != dtype) {
    return invalid(words(op) + ": the result is " + std::string(name(dtype)) + ", not " +
                   std::string(name(out.dtype())));
  }
  if (out.sizes() != sizes) {
    return invalid(words(op) + ": the result has sizes " + text(sizes) + ", not " + text(out.sizes()));
  }
  return check_writable(out, name(op));
}

DType result_type(Op op, DType dtype) { return op == Op::equal ? DType::boolean : dtype; }

Status binary_into(Op op, const Tensor& out, const Tensor& a, const Tensor& b) {
  if (Status sound = check_dtype(op, a.dtype()); !sound) return sound;
  if (Status sound = check_alike(op, a, b); !sound) return sound;
  const Result<Dims> sizes = broadcast(a.sizes(), b.sizes());
  if (!sizes) return invalid(words(op) + ": " + sizes.error().message);
  if (Status sound = check_out(op, out, a, *sizes, result_type(op, a.dtype())); !sound) return sound;
  const Result<Tensor> left = apart_from(a, out);
  if (!left) return left.error();
  const Result<Tensor> right = apart_from(b, out);
  if (!right) return right.error();
  Work work;
  work.op = op;
  work.sizes = *sizes;
  work.out = operand(out, *sizes);
  work.in = {operand(*left, *sizes), operand(*right, *sizes)};
  work.inputs = 2;
  return execute(work, out, {&*left, &*right});
}

// One operand, and a constant where the operation has two.
Status unary_into(Op op, const Tensor& out, const Tensor& a, Scalar constant = {}) {
  if (Status sound = check_dtype(op, a.dtype()); !sound) return sound;
  if (Status sound = check_out(op, out, a, a.sizes(), a.dtype()); !sound) return sound;
  const Result<Tensor> input = apart_from(a, out);
  if (!input) return input.error();
  Work work;
  work.op = op;
  work.sizes = a.sizes();
  work.out = operand(out, a.sizes());
  work.in[0] = operand(*input, a.sizes());
  work.inputs = 1;
  work.value = element_of(constant, a.dtype());
  return execute(work, out, {&*input});
}

Result<Tensor> binary(Op op, const Tensor& a, const Tensor& b) {
  const Result<Dims> sizes = broadcast(a.sizes(), b.sizes());
  if (!sizes) return invalid(words(op) + ": " + sizes.error().message);
  // Before a result is allocated, so that its size is never the reason of the error.
  if (Status sound = check_dtype(op, a.dtype()); !sound) return sound.error();
  if (Status sound = check_alike(op, a, b); !sound) return sound.error();
  Result<Tensor> out = empty(a.place(), *sizes, result_type(op, a.dtype()));
  if (!out) return out;
  if (Status done = binary_into(op, *out, a, b); !done) return done.error();
  return out;
}

Result<Tensor> unary(Op op, const Tensor& a, Scalar constant = {}) {
  if (Status sound = check_dtype(op, a.dtype()); !sound) return sound.error();
  Result<Tensor> out = empty(a.place(), a.sizes(), a.dtype());
  if (!out) return out;
  if (Status done = unary_into(op, *out, a, constant); !done) return done.error();
  return out;
}

}  // namespace

Result<Tensor> add(const Tensor& a, const Tensor& b) { return binary(Op::add, a, b); }
Result<Tensor> sub(const Tensor& a, const Tensor& b) { return binary(Op::sub, a, b); }
Result<Tensor> mul(const Tensor& a, const Tensor& b) { return binary(Op::mul, a, b); }
Result<Tensor> div(const Tensor& a, const Tensor& b) { return binary(Op::div, a, b); }
Result<Tensor> add(const Tensor& a, Scalar b) { return unary(Op::add, a, b); }
Result<Tensor> sub(const Tensor& a, Scalar b) { return unary(Op::sub, a, b); }
Result<Tensor> mul(const Tensor& a, Scalar b) { return unary(Op::mul, a, b); }
Result<Tensor> div(const Tensor& a, Scalar b) { return unary(Op::div, a, b); }
Result<Tensor> sqrt(const Tensor& a) { return unary(Op::sqrt, a); }
Result<Tensor> relu(const Tensor& a) { return unary(Op::relu, a); }

Status add_into(const Tensor& out, const Tensor& a, const Tensor& b) { return binary_into(Op::add, out, a, b); }
Status sub_into(const Tensor& out, const Tensor& a, const Tensor& b) { return binary_into(Op::sub, out, a, b); }
Status mul_into(const Tensor& out, const Tensor& a, const Tensor& b) { return binary_into(Op::mul, out, a, b); }
Status div_into(const Tensor& out, const Tensor& a, const Tensor& b) { return binary_into(Op::div, out, a, b); }
Status add_into(const Tensor& out, const Tensor& a, Scalar b) { return unary_into(Op::add, out, a, b); }
Status sub_into(const Tensor& out, const Tensor& a, Scalar b) { return unary_into(Op::sub, out, a, b); }
Status mul_into(const Tensor& out, const Tensor& a, Scalar b) { return unary_into(Op::mul, out, a, b); }
Status div_into(const Tensor& out, const Tensor& a, Scalar b) { return unary_into(Op::div, out, a, b); }
Status sqrt_into(const Tensor& out, const Tensor& a) { return unary_into(Op::sqrt, out, a); }
Status relu_into(const Tensor& out, const Tensor& a) { return unary_into(Op::relu, out, a); }

Result<Tensor> equal_elements(const Tensor& a, const Tensor& b) { return binary(Op::equal, a, b); }

Result<bool> equal(const Tensor& a, const Tensor& b) {
  if (Status sound = check_alike(Op::equal, a, b); !sound) return sound.error();
  if (a.sizes() != b.sizes()) return false;
  if (a.count() == 0) return true;
  const Result<Tensor> each = equal_elements(a, b);
  if (!each) return each.error();
  const Result<Tensor> all = min(*each);
  if (!all) return all.error();
  const Result<double> answer = all->item();
  if (!answer) return answer.error();
  return *answer != 0;
}

}  // namespace quarry
