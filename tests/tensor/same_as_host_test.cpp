// What a device computes is what the host computes: every operation and dtype, on random views of random elements, with
// the numbers that are easily got wrong among them. Bit for bit, but for the bits of a NaN; sums and means of floating
// types of many elements within the bound of tensor/device_reduce.cuh.
#include "tensor/places.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include <quarry/tensor/ops.h>

namespace quarry::tensor_tests {
namespace {

using Random = std::mt19937_64;
using Doubles = std::vector<double>;

std::vector<DType> numbers() {
  std::vector<DType> result;
  for (std::size_t i = 0; i < kDTypes; ++i) {
    if (is_number(static_cast<DType>(i))) result.push_back(static_cast<DType>(i));
  }
  return result;
}

std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

double some_real(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Doubles special = {0.0,     -0.0,    1.0,     -1.0,     kInfinity, -kInfinity,  std::nan(""),
                           65504.0, 65520.0, 127.5,   -128.5,   255.999,   2147483648., 0x1p63,
                           -0x1p63, 0x1p-24, 0x1p-25, 0x1p-149, 0x1p-1060};
  const std::int64_t kind = below(random, 4);
  if (kind == 0) return special[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(special.size())))];
  if (kind == 1) return static_cast<double>(below(random, 17) - 8);
  const double mantissa = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return kind == 2 ? std::ldexp(mantissa, static_cast<int>(below(random, 40)) - 20)
                   : std::ldexp(mantissa, static_cast<int>(below(random, 2100)) - 1075);
}

std::int64_t some_integer(Random& random) { return static_cast<std::int64_t>(random()) >> below(random, 64); }

// Host tensors whose elements are anything the dtype can hold.
Tensor some_tensor(const Place& host, const Dims& sizes, DType dtype, Random& random) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  if (is_floating(dtype)) {
    Doubles data;
    for (std::int64_t i = 0; i < count; ++i) data.push_back(some_real(random));
    return must(must(from_data(host, sizes, data)).to(dtype));
  }
  std::vector<std::int64_t> data;
  for (std::int64_t i = 0; i < count; ++i) data.push_back(some_integer(random));
  return must(must(from_data(host, sizes, data)).to(dtype));
}

// The first element where they differ.
std::string difference(const Tensor& got, const Tensor& wanted) {
  if (got.dtype() != wanted.dtype() || got.sizes() != wanted.sizes()) return "another dtype, or other sizes";
  const Tensor copy = must(got.to(wanted.place()));
  if (!is_floating(got.dtype())) {
    const auto left = values<std::int64_t>(must(copy.to(DType::i64)));
    const auto right = values<std::int64_t>(must(wanted.to(DType::i64)));
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == right[i]) continue;
      return "element " + std::to_string(i) + ": " + std::to_string(left[i]) + ", not " + std::to_string(right[i]);
    }
    return {};
  }
  const auto left = values<double>(must(copy.to(DType::f64)));
  const auto right = values<double>(must(wanted.to(DType::f64)));
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (std::isnan(left[i]) && std::isnan(right[i])) continue;
    if (std::bit_cast<std::uint64_t>(left[i]) == std::bit_cast<std::uint64_t>(right[i])) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(left[i]) + ", not " + std::to_string(right[i]);
  }
  return {};
}

class SameAsHost : public EachPlace {
 protected:
  Tensor there(const Tensor& tensor) { return must(tensor.to(place())); }

  // `change` gives the same here and there.
  template <class Change>
  void expect_same(const Tensor& here, const std::string& what, Change change) {
    EXPECT_EQ(difference(change(there(here)), change(here)), "") << what << " of " << name(here.dtype());
  }

  Random random_{7};
};
QUARRY_IN_EACH_PLACE(SameAsHost);

// A view of a dense 3-d tensor, drawn anew for each seed, the same for the same one.
Tensor some_view(const Tensor& dense, std::uint64_t seed) {
  Random random(seed);
  Tensor view = must(dense.slice(below(random, 3), below(random, 2), 1000, 1 + below(random, 2)));
  view = must(view.transpose(below(random, 3), below(random, 3)));
  if (below(random, 3) == 0) view = must(must(view.narrow(1, 0, 1)).expand({-1, 5, -1}));
  return view;
}

TEST_P(SameAsHost, Casts) {
  for (const DType from : numbers()) {
    const Tensor dense = some_tensor(places_.host, {7, 11, 13}, from, random_);
    for (const DType to : numbers()) {
      const std::uint64_t seed = random_();
      expect_same(dense, "cast to " + std::string(name(to)),
                  [&](const Tensor& x) { return must(some_view(x, seed).to(to)); });
    }
  }
}

TEST_P(SameAsHost, EveryHalf) {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  for (const DType half : {DType::f16, DType::bf16}) {
    const Tensor all = must(from_bytes(places_.host, {65536}, half, std::as_bytes(std::span(bits))));
    for (const DType to : {DType::f32, DType::f64, DType::i8, DType::i64, DType::boolean}) {
      expect_same(all, "cast to " + std::string(name(to)), [&](const Tensor& x) { return must(x.to(to)); });
    }
    expect_same(all, "add", [](const Tensor& x) { return must(add(x, 1.0 / 3)); });
  }
}

TEST_P(SameAsHost, CopiesOfEveryDtype) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    std::vector<std::byte> bytes(element_size(dtype) * 7 * 11 * 13);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(dtype == DType::boolean ? random_() % 2 : random_());
    const Tensor dense = must(from_bytes(places_.host, {7, 11, 13}, dtype, bytes));
    for (int round = 0; round < 4; ++round) {
      const std::uint64_t seed = random_();
      const Tensor wanted = must(some_view(dense, seed).clone());
      const Tensor got = must(must(some_view(there(dense), seed).clone()).to(places_.host));
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.storage()->size().count), 0) << name(dtype);
    }
    expect_same(must(zeros(places_.host, {1000}, DType::f64)), "fill", [&](const Tensor& x) {
      const Tensor filled = must(zeros(x.place(), {10, 30}, is_number(dtype) ? dtype : DType::u8));
      must(must(filled.slice(1, 1, 30, 3)).fill_(-2.5));
      return filled;
    });
  }
}

using Binary = Result<Tensor> (*)(const Tensor&, const Tensor&);
using WithScalar = Result<Tensor> (*)(const Tensor&, Scalar);

TEST_P(SameAsHost, Arithmetic) {
  const std::vector<std::pair<Binary, WithScalar>> operations = {{add, add}, {sub, sub}, {mul, mul}, {div, div}};
  for (const DType dtype : numbers()) {
    const Tensor dense = some_tensor(places_.host, {6, 9, 10}, dtype, random_);
    const std::uint64_t seed = random_();
    expect_same(dense, "equal", [&](const Tensor& x) {
      const Tensor view = some_view(x, seed);
      return must(equal_elements(view, must(view.narrow(0, 0, 1))));
    });
    if (dtype == DType::boolean) continue;
    for (std::size_t i = 0; i < (is_floating(dtype) ? 4u : 3u); ++i) {
      expect_same(dense, "operation " + std::to_string(i), [&](const Tensor& x) {
        const Tensor view = some_view(x, seed);
        return must(operations[i].first(view, must(view.narrow(0, 0, 1))));  // broadcasts
      });
      expect_same(dense, "operation " + std::to_string(i) + " with 3",
                  [&](const Tensor& x) { return must(operations[i].second(some_view(x, seed), 3)); });
    }
    expect_same(dense, "relu", [&](const Tensor& x) { return must(relu(some_view(x, seed))); });
    if (is_floating(dtype)) expect_same(dense, "sqrt", [&](const Tensor& x) { return must(sqrt(some_view(x, seed))); });
    expect_same(dense, "in place", [](const Tensor& x) {
      const Tensor own = must(x.clone());
      const Tensor view = must(own.transpose(0, 2));
      must(add_into(view, view, view));
      return own;
    });
  }
}

TEST_P(SameAsHost, Generated) {
  for (const DType dtype : numbers()) {
    if (dtype == DType::boolean) continue;
    const bool whole = !is_floating(dtype);
    const Scalar step = whole ? Scalar(7) : Scalar(1.0 / 3);
    EXPECT_EQ(
        difference(must(arange(place(), 10007, dtype, -5, step)), must(arange(places_.host, 10007, dtype, -5, step))),
        "")
        << name(dtype);
    if (whole) continue;
    Generator first(3);
    Generator again(3);
    EXPECT_EQ(difference(must(rand(place(), {33, 31}, first, dtype)), must(rand(places_.host, {33, 31}, again, dtype))),
              "")
        << name(dtype);
  }
}

// Either side of every way a reduction is done: few and many elements, one, several and very many results.
struct Shape {
  Dims sizes;
  std::optional<std::int64_t> dim;
};
std::vector<Shape> shapes() {
  return {{{0}, {}},          {{1}, {}},        {{255}, {}},      {{256}, {}},        {{100'003}, {}},
          {{37, 41, 43}, {}}, {{3, 1000}, 1},   {{1000, 3}, 0},   {{1000, 300}, 0},   {{5, 300, 7}, 1},
          {{70'000, 3}, 1},   {{65'536, 2}, 1}, {{3, 70'000}, 0}, {{300, 70'000}, 0}, {{2, 0, 3}, 1}};
}

TEST_P(SameAsHost, ExactReductions) {
  for (const DType dtype : numbers()) {
    for (const Shape& shape : shapes()) {
      std::int64_t count = 1;
      for (const std::int64_t size : shape.sizes) count *= size;
      if (count > 1'000'000 && dtype != DType::i8) continue;  // slow to make
      const Tensor x = some_tensor(places_.host, shape.sizes, dtype, random_);
      if (!is_floating(dtype)) expect_same(x, "sum", [&](const Tensor& a) { return must(sum(a, shape.dim)); });
      if (count == 0) continue;
      expect_same(x, "min", [&](const Tensor& a) { return must(min(a, shape.dim)); });
      expect_same(x, "max", [&](const Tensor& a) { return must(max(a, shape.dim)); });
    }
  }
}

// The distance of two neighbours at `value`.
double spacing(DType dtype, double value) {
  const int digits = dtype == DType::f16 ? 11 : dtype == DType::bf16 ? 8 : dtype == DType::f32 ? 24 : 53;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1, std::max(exponent, dtype == DType::f16 ? -13 : -125) - digits);
}

void expect_near(const Tensor& got, const Tensor& wanted, double slack, const std::string& what) {
  const auto left = values<double>(must(must(got.to(wanted.place())).to(DType::f64)));
  const auto right = values<double>(must(wanted.to(DType::f64)));
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (std::isnan(left[i]) && std::isnan(right[i])) continue;
    if (left[i] == right[i]) continue;
    ASSERT_LE(std::abs(left[i] - right[i]), slack + spacing(got.dtype(), right[i])) << what << ", element " << i;
  }
}

TEST_P(SameAsHost, SumsOfFloatingTypes) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const Shape& shape : shapes()) {
      if (shape.sizes == Dims{300, 70'000}) continue;
      Generator generator(5);
      const Tensor x = must(sub(must(rand(places_.host, shape.sizes, generator, dtype)), 0.5));
      // Magnitudes are below 1, so their sum is below the number of elements; both sides may be off by the bound.
      const auto n = static_cast<double>(shape.dim ? x.sizes()[static_cast<std::size_t>(*shape.dim)] : x.count());
      const double slack = 2 * n * n * 0x1p-53;
      const std::string what = std::string(name(dtype)) + " " + text(shape.sizes);
      expect_near(must(sum(there(x), shape.dim)), must(sum(x, shape.dim)), slack, "sum " + what);
      expect_near(must(mean(there(x), shape.dim)), must(mean(x, shape.dim)), slack, "mean " + what);
    }
  }
}

TEST_P(SameAsHost, MatrixProducts) {
  struct Sizes {
    std::int64_t rows;
    std::int64_t depth;
    std::int64_t columns;
  };
  for (const DType dtype : numbers()) {
    if (dtype == DType::boolean) continue;
    for (const auto& [rows, depth, columns] :
         std::vector<Sizes>{{1, 1, 1}, {17, 33, 19}, {16, 16, 16}, {5, 0, 7}, {50, 40, 300}, {0, 3, 2}, {31, 1, 1}}) {
      const Tensor a = some_tensor(places_.host, {rows, depth}, dtype, random_);
      const Tensor b = some_tensor(places_.host, {columns, depth}, dtype, random_);
      const Tensor got = must(matmul(there(a), must(there(b).transpose(0, 1))));
      EXPECT_EQ(difference(got, must(matmul(a, must(b.transpose(0, 1))))), "")
          << name(dtype) << " " << rows << " x " << depth << " x " << columns;
    }
  }
}

}  // namespace
}  // namespace quarry::tensor_tests
