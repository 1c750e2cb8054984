// Arithmetic with values known beforehand.
#include "tensor/places.h"

#include <cmath>

#include <quarry/tensor/ops.h>

namespace quarry::tensor_tests {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

class TensorOps : public EachPlace {
 protected:
  Tensor floats(const Dims& sizes, const Floats& data) { return must(from_data(place(), sizes, data)); }
};
QUARRY_IN_EACH_PLACE(TensorOps);

TEST_P(TensorOps, ElementsBroadcast) {
  const Tensor column = floats({2, 1}, {1, 2});
  const Tensor row = floats({3}, {10, 20, 30});
  EXPECT_EQ(values<float>(must(add(column, row))), (Floats{11, 21, 31, 12, 22, 32}));
  EXPECT_EQ(values<float>(must(sub(row, column))), (Floats{9, 19, 29, 8, 18, 28}));
  EXPECT_EQ(values<float>(must(mul(column, row))), (Floats{10, 20, 30, 20, 40, 60}));
  EXPECT_EQ(values<float>(must(div(row, column))), (Floats{10, 20, 30, 5, 10, 15}));
  EXPECT_EQ(values<float>(must(mul(row, 0.5))), (Floats{5, 10, 15}));
  EXPECT_EQ(values<float>(must(sqrt(floats({2}, {9, 2.25f})))), (Floats{3, 1.5f}));
  EXPECT_EQ(values<float>(must(relu(floats({3}, {-1, 0, 2})))), (Floats{0, 0, 2}));
  EXPECT_TRUE(std::isnan(values<float>(must(relu(floats({1}, {std::nanf("")}))))[0]));
  EXPECT_EQ(must(add(floats({0, 3}, {}), row)).sizes(), (Dims{0, 3}));
}

TEST_P(TensorOps, InPlaceAndOverlapping) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(add_into(x, x, must(x.transpose(0, 1))));
  EXPECT_EQ(values<float>(x), (Floats{2, 5, 5, 8}));
  ASSERT_TRUE(mul_into(x, x, 2));
  EXPECT_EQ(values<float>(x), (Floats{4, 10, 10, 16}));
  const Tensor line = must(arange(place(), 5));
  ASSERT_TRUE(add_into(must(line.narrow(0, 1, 4)), must(line.narrow(0, 0, 4)), 1));
  EXPECT_EQ(values<float>(line), (Floats{0, 1, 2, 3, 4}));
  ASSERT_TRUE(matmul_into(x, x, x));
  EXPECT_EQ(values<float>(x), (Floats{116, 200, 200, 356}));
  EXPECT_FALSE(add_into(must(must(x.select(0, 0)).expand({2, 2})), x, x));
}

TEST_P(TensorOps, IntegersWrap) {
  const Tensor big = must(full(place(), {1}, 250, DType::u8));
  EXPECT_EQ(values<std::uint8_t>(must(add(big, big))), (std::vector<std::uint8_t>{244}));
  const Tensor lowest = must(full(place(), {1}, std::numeric_limits<std::int64_t>::min(), DType::i64));
  EXPECT_EQ(values<std::int64_t>(must(sub(lowest, 1))), Longs{std::numeric_limits<std::int64_t>::max()});
  const Tensor word = must(full(place(), {1}, -32768, DType::i16));
  EXPECT_EQ(values<std::int16_t>(must(mul(word, word))), (std::vector<std::int16_t>{0}));
}

TEST_P(TensorOps, HalvesComputeInFloat) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor a = must(full(place(), {2}, 1.5, dtype));
    const Tensor b = must(full(place(), {2}, 0.25, dtype));
    EXPECT_EQ(must(must(sum(must(add(must(mul(a, a)), b)))).item()), 5.0);
  }
  // 2048 + 1 is not an f16, but the sum of many ones is exact inside.
  EXPECT_EQ(must(must(sum(must(ones(place(), {4000}, DType::f16)))).item()), 4000.0);
}

TEST_P(TensorOps, Reductions) {
  const Tensor x = floats({2, 3}, {1, 5, 3, 4, 2, 6});
  EXPECT_EQ(must(must(sum(x)).item()), 21);
  EXPECT_EQ(values<float>(must(sum(x, 0))), (Floats{5, 7, 9}));
  EXPECT_EQ(values<float>(must(mean(x, 1))), (Floats{3, 4}));
  EXPECT_EQ(values<float>(must(min(x, -1))), (Floats{1, 2}));
  EXPECT_EQ(values<float>(must(max(must(x.transpose(0, 1)), 0))), (Floats{5, 6}));
  EXPECT_EQ(must(must(max(x)).item()), 6);
  const Tensor cube = must(must(arange(place(), 24, DType::i64)).view({2, 3, 4}));
  EXPECT_EQ(values<std::int64_t>(must(sum(cube, 1))), (Longs{12, 15, 18, 21, 48, 51, 54, 57}));
  EXPECT_EQ(must(sum(must(ones(place(), {5}, DType::boolean)))).dtype(), DType::i64);
  EXPECT_EQ(must(must(sum(must(must(ones(place(), {1})).expand({1000})))).item()), 1000);
}

TEST_P(TensorOps, ReductionsOfNothing) {
  const Tensor none = floats({2, 0}, {});
  EXPECT_EQ(values<float>(must(sum(none, 1))), (Floats{0, 0}));
  EXPECT_EQ(must(must(sum(none)).item()), 0);
  EXPECT_TRUE(std::isnan(must(must(mean(none)).item())));
  EXPECT_EQ(must(min(none, 0)).sizes(), Dims{0});
  EXPECT_EQ(max(none, 1).error().message, "max: of no elements, sizes [2, 0]");
  const Tensor with_nan = floats({3}, {1, std::nanf(""), 2});
  EXPECT_TRUE(std::isnan(must(must(min(with_nan)).item())));
  EXPECT_TRUE(std::isnan(must(must(max(with_nan)).item())));
}

TEST_P(TensorOps, Matmul) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = floats({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(values<float>(must(matmul(a, b))), (Floats{58, 64, 139, 154}));
  EXPECT_EQ(values<float>(must(matmul(must(b.transpose(0, 1)), must(a.transpose(0, 1))))), (Floats{58, 139, 64, 154}));
  EXPECT_EQ(values<float>(must(matmul(floats({1, 0}, {}), floats({0, 2}, {})))), (Floats{0, 0}));
  // Wider than one block of the host's loop.
  const Tensor wide = must(matmul(must(ones(place(), {3, 4})), must(must(arange(place(), 600)).expand({4, 600}))));
  EXPECT_EQ(values<float>(must(wide.select(0, 2)))[599], 4 * 599);
  EXPECT_EQ(values<std::int32_t>(
                must(matmul(must(full(place(), {1, 2}, 3, DType::i32)), must(full(place(), {2, 1}, 4, DType::i32))))),
            (std::vector<std::int32_t>{24}));
}

TEST_P(TensorOps, Equality) {
  const Tensor a = floats({3}, {1, 2, std::nanf("")});
  EXPECT_EQ(values<std::uint8_t>(must(equal_elements(a, a))), (std::vector<std::uint8_t>{1, 1, 0}));
  EXPECT_FALSE(must(equal(a, a)));
  const Tensor b = floats({2}, {1, 2});
  EXPECT_TRUE(must(equal(must(a.narrow(0, 0, 2)), b)));
  EXPECT_FALSE(must(equal(a, b)));
  EXPECT_TRUE(must(equal(floats({0}, {}), floats({0}, {}))));
}

TEST_P(TensorOps, ErrorsAreOneLine) {
  const Tensor a = floats({2, 3}, Floats(6, 1));
  const auto message = [](const auto& result) { return result ? std::string() : result.error().message; };
  EXPECT_EQ(message(add(a, floats({2}, {1, 2}))), "add: sizes [2, 3] and [2] do not broadcast");
  EXPECT_EQ(message(mul(a, must(a.to(DType::f64)))), "mul: f32 and f64, cast one of them");
  EXPECT_EQ(message(div(must(a.to(DType::i32)), 2)), "div: of i32");
  EXPECT_EQ(message(add(must(a.to(DType::boolean)), 1)), "add: of bool");
  EXPECT_EQ(message(matmul(a, a)), "matmul: sizes [2, 3] and [2, 3]");
  EXPECT_EQ(message(mean(must(a.to(DType::i64)))), "mean: of i64");
  EXPECT_EQ(message(sum(a, 2)), "sum: dimension 2 of a tensor with 2");
  EXPECT_EQ(message(add_into(must(a.select(0, 0)), a, a)), "add: the result has sizes [2, 3], not [3]");
  EXPECT_EQ(message(add(a, must(zeros(places_.pinned, {3})))), "add: the operands are in two memories");
}

}  // namespace
}  // namespace quarry::tensor_tests
