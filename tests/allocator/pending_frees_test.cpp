#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quarry/allocator/stream/pending_frees.h>

namespace quarry {
namespace {

using testing::ElementsAre;

std::vector<StreamId> seen(const PendingFrees& pending) {
  std::vector<StreamId> streams;
  for (const StreamId stream : pending.streams()) streams.push_back(stream);
  return streams;
}

TEST(PendingFrees, StreamsWithEventsInTheOrderOfTheirNumbers) {
  PendingFrees pending;
  EXPECT_THAT(seen(pending), ElementsAre());
  for (const std::uint32_t number : {7u, 2u, 9u, 2u}) pending.push(StreamId{number}, {});
  EXPECT_THAT(seen(pending), ElementsAre(StreamId{2}, StreamId{7}, StreamId{9}));
  pending.remove(StreamId{2}, 1);
  pending.remove(StreamId{7}, 0);
  EXPECT_THAT(seen(pending), ElementsAre(StreamId{2}, StreamId{9}));
}

// Whoever walks the streams drops the lock to ask the driver: others push, and take out what has finished.
TEST(PendingFrees, EventsComeAndGoUnderAWalk) {
  PendingFrees pending;
  for (const std::uint32_t number : {2u, 4u, 6u}) pending.push(StreamId{number}, {});
  std::vector<StreamId> streams;
  for (const StreamId stream : pending.streams()) {
    streams.push_back(stream);
    if (stream == StreamId{2}) {
      pending.remove(stream, 0);
      pending.remove(StreamId{4}, 0);
      pending.push(StreamId{3}, {});
    }
  }
  EXPECT_THAT(streams, ElementsAre(StreamId{2}, StreamId{3}, StreamId{6}));
}

}  // namespace
}  // namespace quarry
