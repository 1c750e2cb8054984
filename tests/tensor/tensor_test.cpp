// Creation, views, copies and their errors, with values known beforehand.
#include "tensor/places.h"

#include <quarry/tensor/memory.h>

namespace quarry::tensor_tests {
namespace {

using Floats = std::vector<float>;

class TensorBasics : public EachPlace {
 protected:
  Tensor numbers(std::int64_t rows, std::int64_t columns) {
    return must(must(arange(place(), rows * columns)).view({rows, columns}));
  }
};
QUARRY_IN_EACH_PLACE(TensorBasics);

TEST_P(TensorBasics, Creation) {
  EXPECT_EQ(values<float>(must(zeros(place(), {2, 2}))), Floats(4, 0));
  EXPECT_EQ(values<float>(must(ones(place(), {3}))), Floats(3, 1));
  EXPECT_EQ(values<std::int16_t>(must(full(place(), {2}, -7, DType::i16))), (std::vector<std::int16_t>{-7, -7}));
  EXPECT_EQ(values<std::uint8_t>(must(full(place(), {2}, -7, DType::u8))), (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(values<std::uint8_t>(must(full(place(), {1}, 0.5, DType::boolean))), (std::vector<std::uint8_t>{1}));
  EXPECT_EQ(values<double>(must(arange(place(), 3, DType::f64, 1.5, -0.5))), (std::vector<double>{1.5, 1, 0.5}));
  EXPECT_EQ(values<std::int64_t>(must(arange(place(), 3, DType::i64, 1ll << 60, 1))),
            (std::vector<std::int64_t>{1ll << 60, (1ll << 60) + 1, (1ll << 60) + 2}));
  EXPECT_EQ(values<float>(must(from_data<float>(place(), {2, 1}, {4, 5}))), (Floats{4, 5}));
  EXPECT_EQ(must(must(full(place(), {}, 3.25)).item()), 3.25);
  EXPECT_EQ(must(zeros(place(), {2, 3}, DType::complex128)).storage()->size(), Bytes{96});
}

TEST_P(TensorBasics, RandomNumbersDependOnTheSeedOnly) {
  Generator first(7);
  Generator again(7);
  const Tensor a = must(rand(place(), {1000}, first));
  const Tensor b = must(rand(places_.host, {1000}, again));
  EXPECT_EQ(values<float>(a), values<float>(b));
  const Tensor next = must(rand(place(), {1000}, first));
  EXPECT_NE(values<float>(a), values<float>(next));
  double sum = 0;
  for (const float value : values<float>(a)) {
    EXPECT_GE(value, 0.0f);
    EXPECT_LT(value, 1.0f);
    sum += value;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST_P(TensorBasics, ViewsShareTheStorage) {
  const Tensor x = numbers(3, 4);
  const Tensor column = must(x.select(1, -1));
  EXPECT_EQ(values<float>(column), (Floats{3, 7, 11}));
  EXPECT_EQ(values<float>(must(x.slice(0, 1))), (Floats{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(values<float>(must(x.slice(1, -3, -1, 2))), (Floats{1, 5, 9}));
  EXPECT_EQ(values<float>(must(x.narrow(1, 1, 2))), (Floats{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(values<float>(must(x.transpose(0, 1))), (Floats{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(values<float>(must(must(x.view({3, 2, 2})).permute({1, 0, 2}))),
            (Floats{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(values<float>(must(must(x.select(0, 1)).expand({2, -1}))), (Floats{4, 5, 6, 7, 4, 5, 6, 7}));
  EXPECT_EQ(must(must(x.unsqueeze(0)).unsqueeze(-1)).sizes(), (Dims{1, 3, 4, 1}));
  EXPECT_EQ(must(must(x.unsqueeze(0)).unsqueeze(-1)).squeeze().sizes(), (Dims{3, 4}));
  EXPECT_TRUE(column.shares_storage_with(x));
  EXPECT_FALSE(must(column.clone()).shares_storage_with(x));
  ASSERT_TRUE(column.fill_(1));
  EXPECT_EQ(values<float>(x), (Floats{0, 1, 2, 1, 4, 5, 6, 1, 8, 9, 10, 1}));
}

TEST_P(TensorBasics, ReshapeCopiesOnlyWhereItMust) {
  const Tensor x = numbers(3, 4);
  EXPECT_TRUE(must(x.reshape({2, -1})).shares_storage_with(x));
  const Tensor turned = must(x.transpose(0, 1));
  EXPECT_TRUE(must(turned.reshape({2, 2, 3})).shares_storage_with(x));
  const Tensor flat = must(turned.reshape({-1}));
  EXPECT_FALSE(flat.shares_storage_with(x));
  EXPECT_EQ(values<float>(flat), (Floats{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST_P(TensorBasics, NoElementsAndNoDimensions) {
  const Tensor none = must(zeros(place(), {3, 0, 2}));
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.storage()->size(), Bytes{0});
  EXPECT_TRUE(none.is_dense());
  EXPECT_EQ(values<float>(must(none.view({0, 5}))), Floats{});
  EXPECT_TRUE(must(none.clone()).copy_(none));
  EXPECT_TRUE(none.fill_(1));
  EXPECT_FALSE(none.view({-1, 0}));
  const Tensor one = must(full(place(), {}, 5));
  EXPECT_EQ(one.count(), 1);
  EXPECT_EQ(values<float>(must(one.expand({2, 2}))), Floats(4, 5));
  EXPECT_EQ(must(one.view({1, 1})).sizes(), (Dims{1, 1}));
  EXPECT_EQ(must(numbers(1, 1).view({})).sizes(), Dims{});
  EXPECT_EQ(values<float>(must(numbers(2, 3).slice(1, 2, 1))), Floats{});
}

TEST_P(TensorBasics, OverlappingCopies) {
  for (const auto& [to, from] : {std::pair{0, 1}, {1, 0}, {0, 0}, {0, 3}}) {
    const Tensor x = must(arange(place(), 8));
    ASSERT_TRUE(must(x.narrow(0, to, 5)).copy_(must(x.narrow(0, from, 5))));
    Floats wanted{0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 5; ++i) wanted[static_cast<std::size_t>(to + i)] = static_cast<float>(from + i);
    EXPECT_EQ(values<float>(x), wanted);
  }
  const Tensor square = numbers(2, 2);
  ASSERT_TRUE(square.copy_(must(square.transpose(0, 1))));
  EXPECT_EQ(values<float>(square), (Floats{0, 2, 1, 3}));
  const Tensor row = must(square.select(0, 1));
  ASSERT_TRUE(square.copy_(row));  // every row becomes the second one
  EXPECT_EQ(values<float>(square), (Floats{1, 3, 1, 3}));
}

TEST_P(TensorBasics, CopiesBetweenPlacesCastAndBroadcast) {
  const Tensor x = numbers(2, 3);
  for (const Place& other : {places_.host, places_.pinned, places_.device}) {
    const Tensor there = must(must(x.transpose(0, 1)).to(other, DType::i32));
    EXPECT_EQ(values<std::int32_t>(there), (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
    const Tensor back = must(zeros(place(), {3, 2}, DType::f64));
    const Tensor odd = must(back.transpose(0, 1));  // not dense
    ASSERT_TRUE(odd.copy_(must(there.select(1, 1))));
    EXPECT_EQ(values<double>(back), (std::vector<double>{3, 3, 4, 4, 5, 5}));
  }
}

TEST_P(TensorBasics, ErrorsAreOneLine) {
  const Tensor x = numbers(3, 4);
  const Tensor wide = must(x.expand({2, 3, 4}));
  const auto message = [](const auto& result) { return result ? std::string() : result.error().message; };
  EXPECT_EQ(message(x.view({5, 2})), "view: sizes [5, 2] do not hold the 12 elements of [3, 4]");
  EXPECT_EQ(message(must(x.transpose(0, 1)).view({12})),
            "view: sizes [4, 3] with strides [1, 4] as [12] would need a copy (reshape makes one)");
  EXPECT_EQ(message(x.select(0, 3)), "select: index 3 of a dimension of size 3");
  EXPECT_EQ(message(x.narrow(1, 3, 2)), "narrow: 2 from 3 on of a dimension of size 4");
  EXPECT_EQ(message(x.slice(2, 0)), "dimension 2 of a tensor with 2");
  EXPECT_EQ(message(x.slice(0, 0, 2, 0)), "slice: the step 0 is not above 0");
  EXPECT_EQ(message(x.permute({0, 0})), "permute: [0, 0] is no order of 2 dimensions");
  EXPECT_EQ(message(x.expand({3, 5})), "expand: sizes [3, 4] to [3, 5]");
  EXPECT_EQ(message(x.copy_(must(zeros(place(), {5})))), "copy_: sizes [5] do not broadcast to [3, 4]");
  EXPECT_EQ(message(wide.fill_(0)), "fill_: sizes [2, 3, 4] with strides [0, 4, 1] write to one place twice");
  EXPECT_EQ(message(x.values<double>()), "values: the elements are f32, not f64");
  EXPECT_EQ(message(x.item()), "item: sizes [3, 4] are not one element");
  EXPECT_EQ(message(empty(place(), {1ll << 40, 1ll << 20})), "sizes [1099511627776, 1048576]: more than 2^59 elements");
  EXPECT_EQ(message(empty(place(), {2, -1})), "sizes [2, -1]: a size is negative");
  EXPECT_EQ(message(from_data<float>(place(), {3}, {1, 2})), "from_data: sizes [3] of f32 are 12 bytes, not 8");
  EXPECT_EQ(message(must(zeros(place(), {1}, DType::complex64)).to(DType::f32)), "copy_: complex64 to f32");
}

// A view of 24 bytes keeps 4 MB alive; a clone of it frees them.
TEST_P(TensorBasics, SixSizes) {
  std::optional<Tensor> x = must(zeros(place(), {1000, 1000}));
  TensorBytes bytes = bytes_of(*x);
  EXPECT_EQ(bytes.handle, Bytes{sizeof(Tensor)});
  EXPECT_EQ(bytes.logical, Bytes{4'000'000});
  EXPECT_EQ(bytes.storage, Bytes{4'000'000});
  EXPECT_EQ(bytes.block, Bytes{4'000'256});  // whole 512
  std::optional<Tensor> corner = must(must(x->slice(0, 0, 2)).slice(1, 0, 3));
  EXPECT_EQ(storage_users(*x), 2);
  x.reset();
  bytes = bytes_of(*corner);
  EXPECT_EQ(bytes.logical, Bytes{24});
  EXPECT_EQ(bytes.spanned, Bytes{4012});
  EXPECT_EQ(bytes.reached, Bytes{24});
  EXPECT_EQ(bytes.storage, Bytes{4'000'000});
  EXPECT_EQ(storage_users(*corner), 1);
  EXPECT_GE(place().memory().ledger().allocated, Bytes{4'000'000});
  corner = must(corner->clone());
  EXPECT_LT(place().memory().ledger().allocated, Bytes{4096});
  const TensorBytes wide = bytes_of(must(must(corner->select(0, 0)).expand({1000, 3})));
  EXPECT_EQ(wide.logical, Bytes{12000});
  EXPECT_EQ(wide.spanned, Bytes{12});
  EXPECT_EQ(wide.reached, Bytes{12});
  EXPECT_EQ(wide.storage, Bytes{24});
}

}  // namespace
}  // namespace quarry::tensor_tests
