// What a program asks, from its three sources, and the way back from the end of the window.
#include "tools/replay/workload.h"

#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "replay/hand_made.h"
#include "tools/replay/replay.h"

namespace quarry::tools {
namespace {

using namespace literals;

constexpr StreamId kSide{1};
using Seen = std::tuple<WorkKind, std::uint32_t, std::uint64_t>;  // kind, slot, size

std::vector<Seen> seen(const std::vector<WorkStep>& steps) {
  std::vector<Seen> list;
  for (const WorkStep& step : steps) list.emplace_back(step.kind, step.slot, step.size.count);
  return list;
}

TEST(Workload, slots_are_dense_and_used_again) {
  WorkloadBuilder builder;
  builder.begin_window();
  const auto a = builder.allocate(100_B);
  const auto b = builder.allocate(200_B);
  builder.free(a);
  const auto c = builder.allocate(300_B, kSide);
  EXPECT_EQ(c, a);
  builder.free(b);
  builder.free(c);
  const Workload work = builder.finish();
  EXPECT_EQ(work.slots, 2u);
  EXPECT_EQ(work.streams, 2u);
  EXPECT_EQ(work.allocations, 3u);
  EXPECT_EQ(work.frees, 3u);
  EXPECT_EQ(work.peak_requested, 500_B);
  EXPECT_TRUE(work.rewind.empty());
}

TEST(Workload, pending_blocks_are_active_until_they_are_completed) {
  WorkloadBuilder builder;
  builder.begin_window();
  const auto a = builder.allocate(100_B);
  builder.request_free(a);
  const auto b = builder.allocate(70_B);
  builder.complete_free(a);
  builder.free(b);
  const Workload work = builder.finish();
  EXPECT_EQ(work.peak_requested, 100_B);
  EXPECT_EQ(work.peak_requested_active, 170_B);
  EXPECT_EQ(work.frees, 2u);
}

// Born in the window and left: freed, oldest first. Gone from the start: back again, in the order of the start.
TEST(Workload, the_way_back_restores_the_start_and_keeps_what_spans) {
  WorkloadBuilder builder;
  const auto first = builder.allocate(1_KiB);
  const auto second = builder.allocate(2_KiB, kSide);
  const auto spans = builder.allocate(3_KiB);
  builder.begin_window();
  builder.free(second);
  builder.free(first);
  const auto x = builder.allocate(7_KiB);  // takes the slot of `first`
  const auto y = builder.allocate(8_KiB);
  const auto z = builder.allocate(9_KiB);
  builder.free(y);
  const auto late = builder.allocate(5_KiB);  // takes the slot of y, and is younger than z
  const Workload work = builder.finish();
  EXPECT_EQ(x, first);
  EXPECT_EQ(late, y);
  EXPECT_EQ(seen(work.rewind), (std::vector<Seen>{{WorkKind::free, x, 0},
                                                  {WorkKind::free, z, 0},
                                                  {WorkKind::free, late, 0},
                                                  {WorkKind::allocate, first, 1024},
                                                  {WorkKind::allocate, second, 2048}}));
  EXPECT_EQ(work.rewind.back().stream, kSide);
  for (const WorkStep& step : work.rewind) EXPECT_NE(step.slot, spans);
}

TEST(Workload, the_way_back_restores_pending_blocks_as_pending) {
  WorkloadBuilder builder;
  const auto pending = builder.allocate(1_KiB);
  builder.request_free(pending);
  const auto live = builder.allocate(2_KiB);
  const auto still = builder.allocate(3_KiB);
  builder.request_free(still);  // and stays so
  builder.begin_window();
  builder.complete_free(pending);
  builder.request_free(live);  // not completed in the window
  const Workload work = builder.finish();
  EXPECT_EQ(seen(work.rewind), (std::vector<Seen>{{WorkKind::complete_free, live, 0},
                                                  {WorkKind::allocate, pending, 1024},
                                                  {WorkKind::request_free, pending, 0},
                                                  {WorkKind::allocate, live, 2048}}));
  EXPECT_EQ(work.peak_requested, 2_KiB);  // the start
  EXPECT_EQ(work.peak_requested_active, 6_KiB);
}

TEST(Workload, of_a_trace_starts_with_what_lives_and_leaves_segments_out) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small);
  made.block(512, BlockState::free).block(1024, BlockState::live, 1000).block(512, BlockState::live, 200);
  made.block(2 * kMiB - 2048, BlockState::free);
  made.segment(kLargeBase, 20 * kMiB, SizeClass::large, 7);
  made.block(4 * kMiB, BlockState::live, 4 * kMiB).block(16 * kMiB, BlockState::free);
  made.alloc(kSmallBase, 300).entry(stats::TraceAction::segment_alloc, kLargeBase, 20 * kMiB, 7);
  made.alloc(kLargeBase, 4 * kMiB, 7).free(kSmallBase, 300).alloc(kSmallBase + Bytes{1536}, 200);
  const Rewound start = rewind(made.trace, 0, {});
  ASSERT_TRUE(start.consistent());
  const Workload work = make_workload(make_program(made.device(), start), start);
  EXPECT_EQ(seen(work.start), (std::vector<Seen>{{WorkKind::allocate, 0, 1000}}));
  EXPECT_EQ(seen(work.window), (std::vector<Seen>{{WorkKind::allocate, 1, 300},
                                                  {WorkKind::allocate, 2, 4 * kMiB},
                                                  {WorkKind::free, 1, 0},
                                                  {WorkKind::allocate, 1, 200}}));
  EXPECT_EQ(work.window[1].stream, kSide);
  EXPECT_EQ(work.peak_requested.count, 4 * kMiB + 1300);
  EXPECT_EQ(work.allocations, 3u);
}

TEST(Workload, of_a_packing_problem_frees_before_it_allocates) {
  stats::PackingProblem problem;
  problem.buffers = {{0, 0, 5, {10}}, {1, 5, 9, {20}}, {2, 0, 9, {30}}, {3, 5, 6, {40}}};
  const Result<Workload> work = make_workload(problem, 2);
  ASSERT_TRUE(work);
  std::vector<std::pair<WorkKind, std::uint64_t>> steps;
  for (const WorkStep& step : work->window) steps.emplace_back(step.kind, step.size.count);
  EXPECT_EQ(steps, (std::vector<std::pair<WorkKind, std::uint64_t>>{{WorkKind::allocate, 20},
                                                                    {WorkKind::allocate, 60},
                                                                    {WorkKind::free, 0},
                                                                    {WorkKind::allocate, 40},
                                                                    {WorkKind::allocate, 80},
                                                                    {WorkKind::free, 0},
                                                                    {WorkKind::free, 0},
                                                                    {WorkKind::free, 0}}));
  EXPECT_EQ(work->peak_requested, 180_B);
  EXPECT_TRUE(work->rewind.empty());
}

TEST(Workload, a_scale_that_leaves_63_bits_is_refused) {
  stats::PackingProblem problem;
  problem.buffers = {{0, 0, 5, {1ull << 40}}};
  EXPECT_TRUE(make_workload(problem, 1 << 20));
  EXPECT_FALSE(make_workload(problem, 1 << 23));
  EXPECT_FALSE(make_workload(problem, 0));
}

}  // namespace
}  // namespace quarry::tools
