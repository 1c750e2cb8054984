// The textbook peer is a right allocator: otherwise beating it means nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <quarry/allocator/sim/device.h>

#include "bench/peers/map_best_fit.h"

namespace quarry::bench {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

std::shared_ptr<sim::Device> device(Bytes capacity = kUnlimited) {
  sim::DeviceOptions options;
  options.capacity = capacity;
  return std::make_shared<sim::Device>(options);
}

std::uint64_t at(void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

TEST(MapBestFit, TakesTheSmallestBlockThatHoldsTheRequest) {
  MapBestFit memory(device());
  void* const large = memory.allocate(Bytes{4 * kMib});
  void* const wall = memory.allocate(Bytes{512});
  void* const small = memory.allocate(Bytes{2 * kMib});
  void* const second_wall = memory.allocate(Bytes{512});
  memory.deallocate(large);
  memory.deallocate(small);
  EXPECT_EQ(memory.allocate(Bytes{kMib}), small);
  EXPECT_EQ(memory.allocate(Bytes{3 * kMib}), large);
  EXPECT_EQ(memory.validate(), "");
  EXPECT_EQ(memory.live(), 4u);
  EXPECT_NE(wall, second_wall);
}

TEST(MapBestFit, MergesWithBothNeighbours) {
  MapBestFit memory(device());
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(memory.allocate(Bytes{kMib}));
  memory.deallocate(blocks[0]);
  memory.deallocate(blocks[2]);
  memory.deallocate(blocks[1]);
  EXPECT_EQ(memory.validate(), "");
  EXPECT_EQ(memory.allocate(Bytes{3 * kMib}), blocks[0]);
}

TEST(MapBestFit, NeverJoinsTwoSegments) {
  MapBestFit memory(device());
  void* const first = memory.allocate(MapBestFit::kSmallestSegment);
  void* const second = memory.allocate(MapBestFit::kSmallestSegment);
  ASSERT_EQ(at(second), at(first) + MapBestFit::kSmallestSegment.count) << "the segments touch";
  memory.deallocate(first);
  memory.deallocate(second);
  EXPECT_EQ(memory.validate(), "");
  EXPECT_EQ(memory.reserved(), MapBestFit::kSmallestSegment * 2);
  memory.allocate(Bytes{MapBestFit::kSmallestSegment.count + 1});
  EXPECT_GT(memory.reserved(), MapBestFit::kSmallestSegment * 2);
}

TEST(MapBestFit, IsNullWhereTheDriverRefuses) {
  const auto small = device(Bytes{64 * kMib});
  MapBestFit memory(small);
  EXPECT_EQ(memory.allocate(Bytes{65 * kMib}), nullptr);
  EXPECT_EQ(memory.allocate(Bytes{}), nullptr);
  EXPECT_EQ(memory.allocate(Bytes{~std::uint64_t{0}}), nullptr);
  EXPECT_NE(memory.allocate(Bytes{64 * kMib}), nullptr);
  EXPECT_EQ(memory.validate(), "");
}

TEST(MapBestFit, GivesItsSegmentsBack) {
  const auto gpu = device();
  {
    MapBestFit memory(gpu);
    memory.allocate(Bytes{kMib});
    EXPECT_GT(gpu->in_use(), Bytes{});
  }
  EXPECT_EQ(gpu->in_use(), Bytes{});
}

TEST(MapBestFit, NoTwoLiveBlocksMeet) {
  MapBestFit memory(device());
  std::mt19937_64 random(3);
  std::map<std::uint64_t, std::uint64_t> live;  // begin -> bytes
  for (int step = 0; step < 2'000; ++step) {
    if (live.empty() || random() % 100 < 55) {
      const std::uint64_t bytes = 1 + random() % (2 * kMib);
      const std::uint64_t begin = at(memory.allocate(Bytes{bytes}));
      ASSERT_EQ(begin % MapBestFit::kAlignment.count, 0u);
      const auto after = live.lower_bound(begin);
      const bool below_the_next = after == live.end() || begin + bytes <= after->first;
      const bool above_the_last = after == live.begin() || std::prev(after)->first + std::prev(after)->second <= begin;
      ASSERT_TRUE(below_the_next && above_the_last);
      live.emplace(begin, bytes);
    } else {
      const auto chosen = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      memory.deallocate(reinterpret_cast<void*>(chosen->first));
      live.erase(chosen);
    }
    ASSERT_EQ(memory.validate(), "");
  }
  for (const auto& [begin, bytes] : live) memory.deallocate(reinterpret_cast<void*>(begin));
  EXPECT_EQ(memory.live(), 0u);
  EXPECT_EQ(memory.validate(), "");
}

}  // namespace
}  // namespace quarry::bench
