#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <vector>

#include <quarry/allocator/front_cache.h>

namespace quarry {
namespace {

using namespace literals;

class FrontCaches : public testing::Test {
 protected:
  Block* block(std::uint64_t address, Bytes size, std::uint32_t stream = 0) {
    for (auto next = static_cast<std::uint32_t>(lanes_.size()); next <= stream; ++next) {
      lanes_.emplace_back().stream = StreamId{next};
    }
    Block& made = blocks_.emplace_back();
    made.address = {address};
    made.size = size;
    made.segment = &lanes_[stream];
    made.state = BlockState::live;
    return &made;
  }
  std::multiset<std::uint64_t> flushed(StreamId stream) {
    std::multiset<std::uint64_t> addresses;
    cache_.flush(stream, [&](Block* block) { addresses.insert(block->address.value); });
    return addresses;
  }

  std::deque<Segment> lanes_;
  std::deque<Block> blocks_;
  FrontCache cache_;
};

TEST_F(FrontCaches, GiveTheLowestAddressFirst) {
  for (const std::uint64_t address : {3u, 1u, 2u}) ASSERT_TRUE(cache_.put(block(address << 20, 1_KiB)));
  for (const std::uint64_t address : {1u, 2u, 3u}) {
    Block* taken = cache_.take(kDefaultStream, 1_KiB);
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->address.value, address << 20);
  }
  EXPECT_EQ(cache_.take(kDefaultStream, 1_KiB), nullptr);
}

TEST_F(FrontCaches, ServeTheirStreamAndExactlyTheirSize) {
  Block* kept = block(1 << 20, 1_KiB, 2);
  ASSERT_TRUE(cache_.put(kept));
  EXPECT_EQ(cache_.take(StreamId{1}, 1_KiB), nullptr);
  EXPECT_EQ(cache_.take(StreamId{3}, 1_KiB), nullptr);
  EXPECT_EQ(cache_.take(StreamId{2}, 512_B), nullptr);
  EXPECT_EQ(cache_.take(StreamId{2}, 1536_B), nullptr);
  EXPECT_EQ(cache_.take(StreamId{2}, kMostFrontBlock + 512_B), nullptr);
  EXPECT_EQ(cache_.take(StreamId{2}, 1_KiB), kept);
}

// Free, but in no index of the heap; live again when it is handed out.
TEST_F(FrontCaches, MarkWhatTheyHold) {
  Block* kept = block(1 << 20, 512_B);
  ASSERT_TRUE(cache_.put(kept));
  EXPECT_EQ(kept->state, BlockState::free);
  EXPECT_EQ(kept->aside, Aside::cached);
  EXPECT_FALSE(kept->is_free());
  ASSERT_EQ(cache_.take(kDefaultStream, 512_B), kept);
  EXPECT_EQ(kept->state, BlockState::live);
  EXPECT_EQ(kept->aside, Aside::no);
}

TEST_F(FrontCaches, HoldABoundedNumberOfBytesForEachStream) {
  EXPECT_FALSE(cache_.put(block(1, kMostFrontBlock + 512_B)));
  const auto fill = [&](std::uint32_t stream) {
    Bytes held;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      // Sizes differ, so that no list is long.
      const Bytes size{512 * (1 + i % 8)};
      if (cache_.put(block((i + 1) << 20, size, stream))) held += size;
    }
    return held;
  };
  for (const std::uint32_t stream : {0u, 1u}) {
    const Bytes held = fill(stream);
    EXPECT_LE(held, kMostFrontBytes);
    EXPECT_GT(held, kMostFrontBytes - 4_KiB);
  }
  EXPECT_FALSE(flushed(StreamId{0}).empty());
  EXPECT_TRUE(cache_.put(block(1, 4_KiB, 0))) << "there is room again";
}

// A list is searched a bounded way only; what is refused is the caller's still.
TEST_F(FrontCaches, RefuseABlockWhosePlaceIsFar) {
  std::uint64_t address = 1;
  while (cache_.put(block(address << 20, 512_B))) ++address;
  EXPECT_LT(Bytes{512 * address}, kMostFrontBytes) << "the search ends before the room does";
  EXPECT_TRUE(cache_.put(block(1, 512_B))) << "the front of the list is near";
  Block* refused = block(address << 20, 512_B);
  EXPECT_FALSE(cache_.put(refused));
  EXPECT_EQ(refused->state, BlockState::live);
  EXPECT_EQ(refused->aside, Aside::no);
}

TEST_F(FrontCaches, AFlushGivesEveryBlockOfTheStreamOnce) {
  for (const std::uint64_t address : {1u, 2u, 3u}) ASSERT_TRUE(cache_.put(block(address, 512_B * address)));
  ASSERT_TRUE(cache_.put(block(9, 512_B, 1)));
  EXPECT_EQ(flushed(kDefaultStream), (std::multiset<std::uint64_t>{1, 2, 3}));
  EXPECT_TRUE(flushed(kDefaultStream).empty());
  EXPECT_TRUE(flushed(StreamId{77}).empty());
  std::size_t rest = 0;
  cache_.flush_all([&](Block* block) {
    EXPECT_EQ(block->address.value, 9u);
    EXPECT_EQ(block->aside, Aside::no);
    ++rest;
  });
  EXPECT_EQ(rest, 1u);
}

}  // namespace
}  // namespace quarry
