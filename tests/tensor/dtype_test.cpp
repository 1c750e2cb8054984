// The 16-bit floating types and the casts, against what the definition of rounding says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <quarry/tensor/dtype.h>
#include <quarry/tensor/elements.h>

namespace quarry {
namespace {

TEST(DTypes, NamesAndSizes) {
  EXPECT_EQ(name(DType::bf16), "bf16");
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kDTypes; ++i) bytes += element_size(static_cast<DType>(i));
  EXPECT_EQ(bytes, 1u + 1 + 1 + 2 + 4 + 8 + 2 + 2 + 4 + 8 + 8 + 16 + 1 + 1);
}

// Every one of the 65536 patterns comes back, and from anywhere between two neighbours the nearer one is taken, at the
// middle the even one.
template <class Half>
void check_rounding() {
  const std::uint16_t infinity = static_cast<std::uint16_t>(((1 << Half::kExponent) - 1) << Half::kMantissa);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double value = widen(half);
    const bool is_nan = (bits & 0x7fff) > infinity;
    ASSERT_EQ(std::isnan(value), is_nan) << bits;
    if (is_nan) {
      ASSERT_TRUE(std::isnan(widen(narrow<Half>(value)))) << bits;
      ASSERT_EQ(narrow<Half>(value).bits >> 15, bits >> 15);
      continue;
    }
    ASSERT_EQ(narrow<Half>(value), half) << bits;
    if ((bits & 0x7fff) >= infinity) continue;
    const Half next{static_cast<std::uint16_t>(bits + 1)};  // further from 0, perhaps infinite
    // The step past the largest finite number is as long as the one before.
    const bool last = next.bits % 32768 == infinity;
    const double above = last ? value + (value - widen(Half{static_cast<std::uint16_t>(bits - 1)})) : widen(next);
    const double middle = value + (above - value) / 2;
    ASSERT_EQ(narrow<Half>(middle), bits % 2 == 0 ? half : next) << bits;
    ASSERT_EQ(narrow<Half>(std::nextafter(middle, value)), half) << bits;
    ASSERT_EQ(narrow<Half>(std::nextafter(middle, above)), next) << bits;
  }
  EXPECT_EQ(narrow<Half>(1e300).bits, infinity);
  EXPECT_EQ(narrow<Half>(-1e-300).bits, 0x8000);
  EXPECT_EQ(narrow<Half>(-std::numeric_limits<double>::infinity()).bits, infinity | 0x8000);
}

TEST(DTypes, HalvesRoundToNearestEven) {
  check_rounding<F16>();
  check_rounding<BF16>();
}

// long double holds every int64 exactly, so the nearer of two neighbours is found directly.
TEST(DTypes, IntegersRoundOnceToBf16) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    // Close to the middle of two bf16 numbers, where rounding twice goes wrong.
    const int shift = static_cast<int>(random() % 54);
    const auto middle = static_cast<std::int64_t>((random() % 128 + 128) * 2 + 1) << shift;
    const std::int64_t value = middle + static_cast<std::int64_t>(random() % 3) - 1;
    const BF16 got = convert<BF16>(value);
    const auto distance = [&](std::uint16_t bits) {
      return std::fabs(static_cast<long double>(widen(BF16{bits})) - static_cast<long double>(value));
    };
    const long double error = distance(got.bits);
    for (const int step : {-1, 1}) {
      const auto other = static_cast<std::uint16_t>(got.bits + step);
      ASSERT_TRUE(error < distance(other) || (error == distance(other) && got.bits % 2 == 0)) << value;
    }
  }
  EXPECT_EQ(widen(convert<BF16>(std::numeric_limits<std::int64_t>::min())), -0x1p63f);
}

TEST(DTypes, FloatingToIntegerSaturates) {
  EXPECT_EQ(convert<std::int8_t>(-2.9f), -2);
  EXPECT_EQ(convert<std::int8_t>(127.9), 127);
  EXPECT_EQ(convert<std::int8_t>(1000.0f), 127);
  EXPECT_EQ(convert<std::int8_t>(-1000.0f), -128);
  EXPECT_EQ(convert<std::uint8_t>(-1.0f), 0);
  EXPECT_EQ(convert<std::uint8_t>(255.5f), 255);
  EXPECT_EQ(convert<std::int64_t>(1e30), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert<std::int64_t>(-1e30), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert<std::int64_t>(0x1p62), std::int64_t{1} << 62);
  EXPECT_EQ(convert<std::int32_t>(std::nan("")), 0);
  EXPECT_EQ(convert<std::int32_t>(narrow<F16>(1e9)), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(convert<std::uint8_t>(std::int32_t{300}), 44);
  EXPECT_TRUE(convert<bool>(std::nan("")));
  EXPECT_FALSE(convert<bool>(-0.0f));
}

}  // namespace
}  // namespace quarry
