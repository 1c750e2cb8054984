// Offline packing: sound by an oracle that compares every pair, and known answers.
#include "tools/replay/pack.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tools/replay/online_fit.h"
#include "tools/replay/packed_items.h"

namespace quarry::tools {
namespace {

using namespace literals;

constexpr std::chrono::milliseconds kBudget{2000};

struct Place {
  PackItem item;
  std::uint64_t bottom;
};

bool meet(const PackItem& a, const PackItem& b) { return a.begin < b.end && b.begin < a.end; }

bool fits(const std::vector<Place>& placed, const PackItem& item, std::uint64_t bottom) {
  return std::ranges::none_of(placed, [&](const Place& other) {
    return meet(other.item, item) && bottom < other.bottom + other.item.size.count &&
           other.bottom < bottom + item.size.count;
  });
}

// The lowest place: at the bottom, or on top of something.
std::uint64_t lowest_place(const std::vector<Place>& placed, const PackItem& item) {
  std::uint64_t best = ~std::uint64_t{0};
  if (fits(placed, item, 0)) return 0;
  for (const Place& other : placed) {
    const std::uint64_t top = other.bottom + other.item.size.count;
    if (meet(other.item, item) && top < best && fits(placed, item, top)) best = top;
  }
  return best;
}

std::vector<PackItem> random_items(std::mt19937& random, std::size_t count, std::uint32_t time, std::uint32_t life) {
  std::vector<PackItem> items;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::uint32_t>(random() % time);
    const auto longest = static_cast<std::uint32_t>(random() % 8 == 0 ? time : life);
    const std::uint32_t end = std::min(time, begin + 1 + static_cast<std::uint32_t>(random() % longest));
    items.push_back({begin, end, {512 * (1 + random() % 40)}});
  }
  return items;
}

TEST(PackedItems, first_fit_is_the_lowest_place_and_nothing_overlaps) {
  std::mt19937 random(5);
  for (const std::size_t count : {1u, 30u, 700u}) {
    const auto items = random_items(random, count, 200, 20);
    PackedItems packed(items, 200);
    std::vector<Place> placed;
    for (const PackItem& item : items) {
      const Bytes at = packed.find(item, Fit::first);
      ASSERT_EQ(at.count, lowest_place(placed, item));
      packed.add(item, at);
      placed.push_back({item, at.count});
    }
  }
}

TEST(PackedItems, best_fit_overlaps_nothing_with_windows_on_every_level) {
  std::mt19937 random(6);
  const auto items = random_items(random, 20000, 20000, 6);
  PackedItems packed(items, 20000);
  std::vector<Place> placed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Bytes at = packed.find(items[i], i % 2 == 0 ? Fit::best : Fit::first);
    packed.add(items[i], at);
    placed.push_back({items[i], at.count});
  }
  // Every pair that lives together, by a sweep over the begins.
  std::ranges::sort(placed, {}, [](const Place& place) { return place.item.begin; });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    for (std::size_t j = i + 1; j < placed.size() && placed[j].item.begin < placed[i].item.end; ++j) {
      const bool apart = placed[i].bottom + placed[i].item.size.count <= placed[j].bottom ||
                         placed[j].bottom + placed[j].item.size.count <= placed[i].bottom;
      ASSERT_TRUE(apart) << i << " and " << j;
    }
  }
}

TEST(PackedItems, best_fit_takes_the_smallest_gap) {
  const std::vector<PackItem> items(5, {0, 10, {1}});
  PackedItems packed(items, 10);
  packed.add({0, 10, 10_B}, 100_B);
  packed.add({0, 10, 10_B}, 140_B);
  packed.add({0, 10, 10_B}, 200_B);
  EXPECT_EQ(packed.find({3, 4, 30_B}, Fit::best), 110_B);
  EXPECT_EQ(packed.find({3, 4, 31_B}, Fit::best), 150_B);
  EXPECT_EQ(packed.find({3, 4, 31_B}, Fit::first), 0_B);
  EXPECT_EQ(packed.find({3, 4, 101_B}, Fit::best), 210_B);
}

TEST(OnlineFit, reuses_merges_and_grows_at_the_end) {
  const std::vector<PackItem> items = {{0, 2, 100_B}, {0, 2, 50_B}, {1, 9, 10_B}, {2, 9, 150_B}, {3, 9, 20_B}};
  EXPECT_EQ(online_best_fit(items), 180_B);
  const std::vector<PackItem> tail = {{0, 9, 100_B}, {0, 1, 50_B}, {1, 9, 70_B}};
  EXPECT_EQ(online_best_fit(tail), 170_B);
  EXPECT_EQ(online_best_fit({}), 0_B);
}

TEST(Pack, a_toy_that_fits_in_twelve) {
  std::vector<PackItem> items = {{0, 3, 4_KiB}, {3, 9, 4_KiB}, {0, 9, 4_KiB}, {9, 21, 4_KiB}, {0, 21, 4_KiB}};
  const Packing packing = pack(items, kBudget);
  EXPECT_EQ(packing.bound, 12_KiB);
  EXPECT_EQ(packing.height, 12_KiB);
}

// In the order of time the fourth item finds its bytes in two pieces; by size there is one place for everything.
TEST(Pack, finds_an_order_better_than_that_of_time) {
  std::vector<PackItem> items = {{0, 2, 1_MiB}, {0, 9, 1_MiB}, {0, 2, 1_MiB}, {2, 9, 2_MiB}};
  EXPECT_EQ(online_best_fit(items), 4_MiB);
  const Packing packing = pack(items, kBudget);
  EXPECT_EQ(packing.bound, 3_MiB);
  EXPECT_EQ(packing.height, 3_MiB);
}

TEST(Pack, what_lives_all_the_time_needs_no_search) {
  const Packing packing = pack({{0, 5, 1_MiB}, {0, 5, 3_MiB}}, kBudget);
  EXPECT_EQ(packing.height, 4_MiB);
  EXPECT_EQ(packing.tried, 0u);
  EXPECT_EQ(pack({}, kBudget).height, 0_B);
}

TEST(Pack, is_never_below_the_bound_nor_above_the_order_of_time) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const auto items = random_items(random, 1 + random() % 60, 50, 12);
    const Packing packing = pack(items, kBudget);
    EXPECT_GE(packing.height, packing.bound);
    std::uint64_t most = 0;
    for (std::uint32_t t = 0; t < 50; ++t) {
      std::uint64_t live = 0;
      for (const PackItem& item : items) live += item.begin <= t && t < item.end ? item.size.count : 0;
      most = std::max(most, live);
    }
    EXPECT_EQ(packing.bound.count, most);
  }
}

TEST(Pack, without_time_the_order_of_time_is_left) {
  std::mt19937 random(8);
  std::vector<PackItem> items = random_items(random, 5000, 5000, 9);
  const Packing packing = pack(items, std::chrono::milliseconds{0});
  EXPECT_EQ(packing.tried, 0u);
  EXPECT_GE(packing.height, packing.bound);
}

TEST(PackItems, live_from_the_request_to_the_last_use) {
  WorkloadBuilder builder;
  const auto start = builder.allocate(100_B);
  builder.begin_window();
  const auto a = builder.allocate(513_B);
  builder.request_free(a);
  const auto b = builder.allocate(1_B);  // while a is still used
  builder.complete_free(a);
  const auto c = builder.allocate(2_B);
  builder.free(b);
  builder.allocate(3_B);  // never freed
  builder.free(c);
  builder.free(start);
  const std::vector<PackItem> items = pack_items(builder.finish());
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0].size, 512_B);
  EXPECT_EQ(items[1].size, 1024_B);
  const auto expect_life = [&](std::size_t i, std::uint32_t begin, std::uint32_t end) {
    EXPECT_EQ(items[i].begin, begin) << i;
    EXPECT_EQ(items[i].end, end) << i;
  };
  expect_life(0, 0, 3);
  expect_life(1, 0, 1);
  expect_life(2, 0, 2);
  expect_life(3, 1, 3);
  expect_life(4, 2, 3);
}

}  // namespace
}  // namespace quarry::tools
