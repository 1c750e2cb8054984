#include <quarry/stats/trace.h>

#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace quarry::stats {
namespace {

TEST(StringTable, GivesOneIdPerTextAndKeepsViews) {
  StringTable table;
  EXPECT_EQ(table.intern(""), StringId{});
  const StringId first = table.intern("alpha");
  const std::string_view view = table.at(first);
  for (int i = 0; i < 10000; ++i) table.intern("text " + std::to_string(i));
  EXPECT_EQ(table.intern("alpha"), first);
  EXPECT_EQ(view, "alpha");
  EXPECT_EQ(table.at(first).data(), view.data());
  EXPECT_EQ(table.size(), 10002u);
  EXPECT_EQ(table.at(table.intern("text 7777")), "text 7777");
}

TEST(StringTable, LongTextsDoNotDisturbShortOnes) {
  StringTable table;
  const StringId small = table.intern("small");
  const StringId large = table.intern(std::string(100000, 'x'));
  const StringId after = table.intern("after");
  const StringTable moved = std::move(table);
  EXPECT_EQ(moved.at(small), "small");
  EXPECT_EQ(moved.at(large).size(), 100000u);
  EXPECT_EQ(moved.at(after), "after");
}

TEST(StackTable, EqualStacksAreOne) {
  StackTable table;
  const std::array<Frame, 2> stack = {{{StringId{1}, StringId{2}, 3}, {StringId{4}, StringId{5}, -1}}};
  const StackId id = table.intern(stack);
  EXPECT_EQ(table.intern({}), StackId{});
  EXPECT_NE(id, StackId{});
  EXPECT_EQ(table.intern(stack), id);
  EXPECT_NE(table.intern(std::span(stack).first(1)), id);
  ASSERT_EQ(table.at(id).size(), 2u);
  EXPECT_EQ(table.at(id)[1], stack[1]);
  EXPECT_EQ(table.size(), 3u);
}

TEST(TraceAction, NamesGoBothWays) {
  for (std::size_t i = 0; i < kTraceActions; ++i) {
    const auto action = static_cast<TraceAction>(i);
    EXPECT_EQ(action_from_name(action_name(action)), action);
  }
  EXPECT_EQ(action_from_name("annotate"), std::nullopt);
  EXPECT_EQ(action_name(TraceAction::segment_unmap), "segment_unmap");
}

TEST(Trace, PoolIndexAddsAPoolOnceAndSaysWhenThereAreTooMany) {
  Trace trace;
  EXPECT_EQ(trace.pool_index({0, 7}), PoolIndex{0});
  EXPECT_EQ(trace.pool_index({7, 0}), PoolIndex{1});
  EXPECT_EQ(trace.pool_index({0, 7}), PoolIndex{0});
  trace.pools.resize(0xffff);
  EXPECT_EQ(trace.pool_index({1, 1}), kUnknownPool);
}

}  // namespace
}  // namespace quarry::stats
