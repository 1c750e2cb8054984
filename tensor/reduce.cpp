// Reductions, and the matrix product, which is one over two operands.
#include <string>

#include <quarry/tensor/error.h>
#include <quarry/tensor/execute.h>
#include <quarry/tensor/ops.h>

namespace quarry {

namespace {

// `a` with the reduced dimensions last, and how many they are.
struct Reduction {
  Layout layout;
  std::size_t reduced;
};

Result<Reduction> last_reduced(const Tensor& a, std::optional<std::int64_t> dim) {
  if (!dim) return Reduction{a.layout(), a.sizes().size()};
  const Result<std::size_t> at = find_dim(*dim, a.sizes().size());
  if (!at) return at.error();
  Dims order;
  for (std::size_t i = 0; i < a.sizes().size(); ++i) {
    if (i != *at) order.push_back(static_cast<std::int64_t>(i));
  }
  order.push_back(static_cast<std::int64_t>(*at));
  return Reduction{*permute(a.layout(), order), 1};
}

Result<Tensor> reduce(Op op, const Tensor& a, std::optional<std::int64_t> dim, DType dtype) {
  if (!is_number(a.dtype())) return unsupported(std::string(name(op)) + ": of " + std::string(name(a.dtype())));
  const Result<Reduction> input = last_reduced(a, dim);
  if (!input) return invalid(std::string(name(op)) + ": " + input.error().message);
  const std::size_t kept = a.sizes().size() - input->reduced;
  Dims sizes;
  std::int64_t folded = 1;  // elements that become one
  for (std::size_t i = 0; i < input->layout.sizes.size(); ++i) {
    if (i < kept)
      sizes.push_back(input->layout.sizes[i]);
    else
      folded *= input->layout.sizes[i];
  }
  if (folded == 0 && (op == Op::min || op == Op::max)) {
    return invalid(std::string(name(op)) + ": of no elements, sizes " + text(a.sizes()));
  }
  Result<Tensor> out = empty(a.place(), sizes, dtype);
  if (!out) return out;
  Dims strides = out->strides();
  for (std::size_t i = kept; i < input->layout.sizes.size(); ++i) strides.push_back(0);
  Work work;
  work.op = op;
  work.sizes = input->layout.sizes;
  work.reduced = input->reduced;
  work.out = operand_with(*out, strides);
  work.in[0] = operand_with(a, input->layout.strides);
  work.inputs = 1;
  if (Status done = execute(work, *out, {&a}); !done) return done.error();
  return out;
}

}  // namespace

Result<Tensor> sum(const Tensor& a, std::optional<std::int64_t> dim) {
  return reduce(Op::sum, a, dim, is_floating(a.dtype()) ? a.dtype() : DType::i64);
}

Result<Tensor> mean(const Tensor& a, std::optional<std::int64_t> dim) {
  if (!is_floating(a.dtype())) return unsupported("mean: of " + std::string(name(a.dtype())));
  return reduce(Op::mean, a, dim, a.dtype());
}

Result<Tensor> min(const Tensor& a, std::optional<std::int64_t> dim) { return reduce(Op::min, a, dim, a.dtype()); }
Result<Tensor> max(const Tensor& a, std::optional<std::int64_t> dim) { return reduce(Op::max, a, dim, a.dtype()); }

// Matrix product ------------------------------------------------------------------------------------------------------

namespace {

Status check_matrices(const Tensor& a, const Tensor& b) {
  if (a.sizes().size() != 2 || b.sizes().size() != 2 || a.sizes()[1] != b.sizes()[0]) {
    return invalid("matmul: sizes " + text(a.sizes()) + " and " + text(b.sizes()));
  }
  if (!same_memory(a.place(), b.place())) return invalid("matmul: the operands are in two memories");
  if (a.dtype() != b.dtype()) {
    return invalid("matmul: " + std::string(name(a.dtype())) + " and " + std::string(name(b.dtype())) +
                   ", cast one of them");
  }
  if (!is_number(a.dtype()) || a.dtype() == DType::boolean) {
    return unsupported("matmul: of " + std::string(name(a.dtype())));
  }
  return Done{};
}

}  // namespace

Status matmul_into(const Tensor& out, const Tensor& a, const Tensor& b) {
  if (Status sound = check_matrices(a, b); !sound) return sound;
  const Dims sizes{a.sizes()[0], b.sizes()[1]};
  if (!same_memory(out.place(), a.place()) || out.dtype() != a.dtype() || out.sizes() != sizes) {
    return invalid("matmul: the result is " + std::string(name(a.dtype())) + " " + text(sizes) + ", not " +
                   std::string(name(out.dtype())) + " " + text(out.sizes()) + ", in the memory of the operands");
  }
  if (Status sound = check_writable(out, "matmul"); !sound) return sound;
  // Every element of an operand is read many times, so none may be written meanwhile.
  if (out.shares_storage_with(a) || out.shares_storage_with(b)) {
    const Result<Tensor> apart = matmul(a, b);
    if (!apart) return apart.error();
    return out.copy_(*apart);
  }
  Work work;
  work.op = Op::matmul;
  work.sizes = {sizes[0], sizes[1], a.sizes()[1]};
  work.reduced = 1;
  work.out = operand_with(out, {out.strides()[0], out.strides()[1], 0});
  work.in = {operand_with(a, {a.strides()[0], 0, a.strides()[1]}),
             operand_with(b, {0, b.strides()[1], b.strides()[0]})};
  work.inputs = 2;
  return execute(work, out, {&a, &b});
}

Result<Tensor> matmul(const Tensor& a, const Tensor& b) {
  if (Status sound = check_matrices(a, b); !sound) return sound.error();
  Result<Tensor> out = empty(a.place(), {a.sizes()[0], b.sizes()[1]}, a.dtype());
  if (!out) return out;
  if (Status done = matmul_into(*out, a, b); !done) return done.error();
  return out;
}

}  // namespace quarry
