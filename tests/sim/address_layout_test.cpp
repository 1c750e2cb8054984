#include <quarry/allocator/sim/address_layout.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <random>

namespace quarry::sim {
namespace {

using namespace literals;

TEST(RoundUp, MultiplesStayAndOthersGrow) {
  EXPECT_EQ(round_up(0_B, 512_B), 0_B);
  EXPECT_EQ(round_up(512_B, 512_B), 512_B);
  EXPECT_EQ(round_up(513_B, 512_B), 1024_B);
  EXPECT_EQ(round_up(11_MiB, 2_MiB), 12_MiB);
}

TEST(RoundUp, LeavingSixtyFourBitsIsNoSize) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(round_up({most}, 512_B), std::nullopt);
  EXPECT_EQ(round_up({most - 511}, 512_B), Bytes{most - 511});
}

TEST(AddressLayout, TakesTheLowestGapThatFits) {
  AddressLayout layout({0x1000}, {0x9000}, {0x1000});
  EXPECT_EQ(layout.take({0x2000}), Address{0x1000});
  EXPECT_EQ(layout.take({0x1000}), Address{0x3000});
  EXPECT_EQ(layout.take({0x2000}), Address{0x4000});
  layout.give_back({0x1000}, {0x2000});
  EXPECT_EQ(layout.take({0x3000}), Address{0x6000});
  EXPECT_EQ(layout.take({0x1000}), Address{0x1000});
  EXPECT_EQ(layout.take({0x2000}), std::nullopt);
  EXPECT_EQ(layout.take({0x1000}), Address{0x2000});
  EXPECT_EQ(layout.take({0x1000}), std::nullopt);
}

TEST(AddressLayout, GapsThatTouchAreOne) {
  AddressLayout layout({0x1000}, {0x4000}, {0x1000});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(layout.take({0x1000}));
  layout.give_back({0x1000}, {0x1000});
  layout.give_back({0x3000}, {0x1000});
  EXPECT_EQ(layout.take({0x2000}), std::nullopt);
  layout.give_back({0x2000}, {0x1000});
  EXPECT_EQ(layout.take({0x3000}), Address{0x1000});
}

TEST(AddressLayout, ChosenPlacesAreLeftOut) {
  AddressLayout layout({0x1000}, {0x9000}, {0x1000});
  layout.take_at({0x1200}, {0x100});  // not on a multiple: the rest of that page is no place either
  EXPECT_EQ(layout.take({0x1000}), Address{0x2000});
  layout.take_at({0x3000}, {0x5000});
  EXPECT_EQ(layout.take({0x1000}), Address{0x8000});
  layout.give_back({0x1200}, {0x100});
  EXPECT_EQ(layout.take({0x1000}), Address{0x1000});
}

TEST(AddressLayout, PlacesOutsideDoNotMatter) {
  AddressLayout layout({0x4000}, {0x6000}, {0x1000});
  layout.take_at({0x1000}, {0x1000});
  layout.take_at({0x3000}, {0x2000});  // its second half lies inside
  layout.take_at({0x9000}, {0x1000});
  EXPECT_EQ(layout.take({0x1000}), Address{0x5000});
  layout.give_back({0x3000}, {0x2000});
  layout.give_back({0x1000}, {0x1000});
  EXPECT_EQ(layout.take({0x1000}), Address{0x4000});
  EXPECT_EQ(layout.take({0x1000}), std::nullopt);
}

// Against a plain array of pages: the lowest run of free pages is what first fit means.
TEST(AddressLayout, AgreesWithAPageTable) {
  constexpr std::size_t kPages = 40;
  std::mt19937 random(3);
  AddressLayout layout({512}, {512 * (kPages + 1)}, 512_B);
  std::array<bool, kPages> used{};
  std::map<std::size_t, std::size_t> live;
  const auto lowest = [&](std::size_t count) -> std::optional<std::size_t> {
    for (std::size_t at = 0; at + count <= kPages; ++at) {
      if (std::none_of(&used[at], &used[at] + count, [](bool taken) { return taken; })) return at;
    }
    return std::nullopt;
  };
  for (int step = 0; step < 5000; ++step) {
    if (!live.empty() && random() % 2 == 0) {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      layout.give_back({512 * (victim->first + 1)}, Bytes{512} * victim->second);
      std::fill_n(&used[victim->first], victim->second, false);
      live.erase(victim);
      continue;
    }
    const std::size_t count = 1 + random() % 8;
    const std::optional<std::size_t> expected = lowest(count);
    const std::optional<Address> got = layout.take(Bytes{512} * count);
    ASSERT_EQ(got.has_value(), expected.has_value()) << "step " << step;
    if (!got) continue;
    ASSERT_EQ(got->value, 512 * (*expected + 1)) << "step " << step;
    std::fill_n(&used[*expected], count, true);
    live.emplace(*expected, count);
  }
}

}  // namespace
}  // namespace quarry::sim
