// Compare mode on small programs whose answers are known.
#include "tools/replay/compare.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quarry::tools {
namespace {

using namespace literals;
using testing::HasSubstr;

constexpr StreamId kSide{1};
constexpr StreamId kThird{2};
const std::vector<std::string_view> kOnline = {"pytorch",         "pytorch+expandable", "pytorch+max_split",
                                               "pytorch+roundup", "exact-size",         "bins",
                                               "paged",           "paged+tight",        "paged+fast"};

CompareRun run(const Workload& work, std::string_view key, const CompareOptions& options = {}) {
  Result<CompareRun> got = run_policy(work, key, options);
  EXPECT_TRUE(got) << key << ": " << got.error().message;
  return got ? *std::move(got) : CompareRun{};
}

std::uint64_t calls(const CallCounts& counts, sim::Call call) { return counts[static_cast<std::size_t>(call)]; }

// Many blocks of one size, all freed, then half as many of the double.
Workload doubling() {
  WorkloadBuilder builder;
  builder.begin_window();
  std::vector<WorkloadBuilder::Slot> slots;
  for (int i = 0; i < 8; ++i) slots.push_back(builder.allocate(16_MiB));
  for (const auto slot : slots) builder.free(slot);
  slots.clear();
  for (int i = 0; i < 4; ++i) slots.push_back(builder.allocate(32_MiB));
  for (const auto slot : slots) builder.free(slot);
  return builder.finish();
}

TEST(Compare, the_doubling_that_segments_cannot_follow) {
  const Workload work = doubling();
  EXPECT_EQ(run(work, "bound").peak_reserved, 128_MiB);
  EXPECT_EQ(run(work, "packed").peak_reserved, 128_MiB);
  const CompareRun pytorch = run(work, "pytorch");
  EXPECT_EQ(pytorch.peak_reserved, 256_MiB);
  EXPECT_DOUBLE_EQ(pytorch.fragmentation(), 2.0);
  EXPECT_EQ(pytorch.allocations, 12u);
  EXPECT_EQ(pytorch.frees, 12u);
  EXPECT_EQ(pytorch.ooms, 0u);
  EXPECT_EQ(calls(pytorch.driver_calls(), sim::Call::allocate_segment), 12u);
  EXPECT_EQ(run(work, "pytorch+expandable").peak_reserved, 140_MiB);  // pages of 20 MiB
  EXPECT_EQ(run(work, "exact-size").peak_reserved, 256_MiB);
  EXPECT_EQ(run(work, "bins").peak_reserved, 256_MiB);
}

TEST(Compare, every_policy_sees_the_same_requests) {
  const Workload work = doubling();
  for (const PolicyEntry& policy : policy_table()) {
    const CompareRun got = run(work, policy.key);
    EXPECT_EQ(got.policy, policy.key);
    EXPECT_EQ(got.peak_requested, 128_MiB);
    EXPECT_EQ(got.peak_requested_active, 128_MiB) << policy.key;
    EXPECT_EQ(got.options.has_value(), policy.kind == PolicyKind::allocator);
  }
}

TEST(Compare, options_come_from_the_policy_over_the_base) {
  CompareOptions options;
  options.base.large_segment_size = 40_MiB;
  const Workload work = doubling();
  const CompareRun plain = run(work, "pytorch", options);
  EXPECT_EQ(plain.options->large_segment_size, 40_MiB);
  EXPECT_FALSE(plain.options->expandable_segments);
  EXPECT_TRUE(run(work, "pytorch+expandable", options).options->expandable_segments);
  EXPECT_EQ(run(work, "pytorch+max_split", options).options->max_split_size, 128_MiB);
  EXPECT_EQ(run(work, "pytorch+roundup", options).options->roundup_power2_divisions[3], 8u);
  EXPECT_EQ(run(work, "paged", options).options->policy, Policy::paged);
  EXPECT_EQ(run(work, "paged+fast", options).options->placement, PlacementRule::fast);
  options.base.placement = PlacementRule::fast;
  EXPECT_EQ(run(work, "paged", options).options->placement, PlacementRule::fast);
  EXPECT_EQ(run(work, "paged+tight", options).options->placement, PlacementRule::tight);
}

TEST(Compare, the_peers_hold_what_the_driver_hands_out) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.allocate(1_B);
  builder.allocate(3_MiB);
  const Workload work = builder.finish();
  const CompareRun exact = run(work, "exact-size");
  EXPECT_EQ(exact.peak_reserved, 6_MiB);
  EXPECT_EQ(exact.peak_allocated, 512_B + 3_MiB);
  const CompareRun bins = run(work, "bins");
  EXPECT_EQ(bins.peak_reserved, 6_MiB);
  EXPECT_EQ(bins.peak_allocated, 512_B + 4_MiB);
}

TEST(Compare, exact_size_reuses_equal_sizes_of_its_stream_only) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.free(builder.allocate(10_MiB));
  builder.free(builder.allocate(10_MiB - 100_B));  // rounds to the same
  builder.free(builder.allocate(10_MiB, kSide));
  builder.free(builder.allocate(10_MiB - 600_B));
  builder.free(builder.allocate(10_MiB, kDefaultStream, PoolId{0, 1}));
  EXPECT_EQ(run(builder.finish(), "exact-size").peak_reserved, 40_MiB);
}

TEST(Compare, bins_show_a_block_to_other_streams_once_its_event_is_done) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.free(builder.allocate(9_MiB));
  builder.free(builder.allocate(16_MiB, kSide));  // the same bin
  for (int i = 0; i < 3; ++i) builder.free(builder.allocate(1_MiB, kThird));
  builder.free(builder.allocate(16_MiB, kThird));
  const Workload work = builder.finish();
  EXPECT_EQ(run(work, "bins").peak_reserved, 18_MiB);
  EXPECT_EQ(run(work, "bins", {.event_lag = 4}).peak_reserved, 34_MiB);
  EXPECT_EQ(run(work, "bins", {.event_lag = 100}).peak_reserved, 50_MiB);
}

TEST(Compare, a_refused_peer_gives_its_cache_back_and_asks_again) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.free(builder.allocate(20_MiB));
  builder.free(builder.allocate(60_MiB));
  const auto a = builder.allocate(40_MiB);
  const auto b = builder.allocate(50_MiB);  // does not fit beside a
  builder.free(a);
  builder.free(b);
  const Workload work = builder.finish();
  for (const std::string_view key : {"exact-size", "bins"}) {
    const CompareRun got = run(work, key, {.capacity = 64_MiB});
    EXPECT_EQ(got.ooms, 1u) << key;
    EXPECT_LE(got.peak_reserved, 64_MiB) << key;
    EXPECT_GE(calls(got.driver_calls(), sim::Call::release_segment), 1u) << key;
  }
  EXPECT_EQ(run(work, "pytorch", {.capacity = 64_MiB}).ooms, 1u);
}

// A use that nobody names ends where the program says so, whatever the policy.
TEST(Compare, bytes_come_back_where_the_foreign_use_ends) {
  WorkloadBuilder builder;
  builder.begin_window();
  const auto a = builder.allocate(32_MiB);
  builder.request_free(a);
  const auto b = builder.allocate(32_MiB);
  builder.complete_free(a);
  const auto c = builder.allocate(32_MiB);
  builder.free(b);
  builder.free(c);
  const Workload work = builder.finish();
  for (const std::string_view key : kOnline) {
    const CompareRun got = run(work, key);
    EXPECT_EQ(got.peak_reserved.count, got.policy == "pytorch+expandable" ? 80 * 1048576ull : 64 * 1048576ull) << key;
    EXPECT_EQ(got.peak_requested, 64_MiB) << key;
    EXPECT_EQ(got.peak_requested_active, 64_MiB) << key;
    EXPECT_EQ(got.peak_allocated, 64_MiB) << key;
  }
}

TEST(Compare, requested_as_the_caller_frees_stands_beside_active) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.request_free(builder.allocate(32_MiB));
  builder.free(builder.allocate(16_MiB));
  const Workload work = builder.finish();
  const CompareRun got = run(work, "pytorch");
  EXPECT_EQ(got.peak_requested, 32_MiB);
  EXPECT_EQ(got.peak_requested_active, 48_MiB);
  EXPECT_EQ(got.peak_allocated, 32_MiB);
  EXPECT_DOUBLE_EQ(got.fragmentation(), 1.5);
  EXPECT_DOUBLE_EQ(got.fragmentation_active(), 1.0);
  EXPECT_EQ(run(work, "packed").peak_reserved, 48_MiB);
  EXPECT_EQ(run(work, "bound").peak_reserved, 32_MiB);
}

// `requests` small ones between a block that another stream used and the next request for its bytes.
Workload used_elsewhere(int requests) {
  WorkloadBuilder builder;
  builder.begin_window();
  const auto a = builder.allocate(64_MiB);
  builder.used_on(a, kSide);
  builder.free(a);
  for (int i = 0; i < requests; ++i) builder.free(builder.allocate(1_KiB));
  builder.free(builder.allocate(64_MiB));
  return builder.finish();
}

TEST(Compare, events_complete_as_many_requests_later_as_asked) {
  const CompareOptions five{.event_lag = 5};
  EXPECT_EQ(run(used_elsewhere(0), "pytorch").peak_reserved, 64_MiB);
  EXPECT_EQ(run(used_elsewhere(4), "pytorch", five).peak_reserved, 130_MiB);
  EXPECT_EQ(run(used_elsewhere(5), "pytorch", five).peak_reserved, 66_MiB);
  EXPECT_EQ(run(used_elsewhere(3), "pytorch", five).peak_requested_active, 128_MiB);
  EXPECT_EQ(run(used_elsewhere(3), "pytorch", five).peak_requested, 64_MiB);
}

TEST(Compare, the_lag_costs_no_driver_time) {
  const Workload work = doubling();
  const double at_once = run(work, "pytorch").driver_us();
  EXPECT_GT(at_once, 0);
  EXPECT_NEAR(run(work, "pytorch", {.event_lag = 50}).driver_us(), at_once, 1e-3);
}

TEST(Compare, a_peer_without_pending_frees_says_so) {
  for (const std::string_view key : {"exact-size", "bins"}) {
    EXPECT_TRUE(run_policy(used_elsewhere(0), key));
    const Result<CompareRun> lagging = run_policy(used_elsewhere(0), key, {.event_lag = 1});
    ASSERT_FALSE(lagging) << key;
    EXPECT_EQ(lagging.error().code, ErrorCode::unsupported);
  }
}

TEST(Compare, the_waits_of_the_program_are_not_the_policys) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.free(builder.allocate(16_MiB));
  for (int i = 0; i < 10; ++i) builder.note_wait(kSide, kDefaultStream);
  builder.free(builder.allocate(16_MiB, kSide));
  const Workload work = builder.finish();
  const CompareRun got = run(work, "pytorch", {.event_lag = 5});
  EXPECT_EQ(calls(got.driver_calls(), sim::Call::wait_on_stream), 0u);
  EXPECT_EQ(calls(got.driver_calls(), sim::Call::record), 0u);
  EXPECT_EQ(calls(got.driver_calls(), sim::Call::allocate_segment), 2u);
  EXPECT_NEAR(got.driver_us(), 2 * (13.9 + 16 * 0.5), 1e-3);
}

// Born in the window and left, and gone from the start: every iteration sees the same requests.
TEST(Compare, iterations_repeat_the_window) {
  WorkloadBuilder builder;
  builder.allocate(20_MiB);
  const auto old = builder.allocate(30_MiB);
  builder.begin_window();
  builder.free(old);
  builder.free(builder.allocate(40_MiB));
  builder.allocate(30_MiB);  // takes the place of `old`
  const Workload work = builder.finish();
  const CompareRun once = run(work, "exact-size");
  const CompareRun got = run(work, "exact-size", {.repeat = 4});
  ASSERT_EQ(got.iterations.size(), 4u);
  EXPECT_EQ(got.allocations, 8u);
  EXPECT_EQ(got.frees, 8u);
  EXPECT_EQ(got.peak_reserved, 90_MiB);
  EXPECT_EQ(got.iterations[0].driver_calls, once.iterations[0].driver_calls);
  EXPECT_EQ(calls(got.iterations[0].driver_calls, sim::Call::allocate_segment), 3u);
  EXPECT_DOUBLE_EQ(got.driver_us(), once.driver_us());
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(got.iterations[i].driver_calls, CallCounts{});
    EXPECT_EQ(got.iterations[i].driver_us, 0);
    EXPECT_EQ(got.iterations[i].peak_reserved, 90_MiB);
  }
  for (const std::string_view key : kOnline) {
    EXPECT_EQ(run(work, key, {.repeat = 3}).peak_requested, work.peak_requested) << key;
    EXPECT_EQ(run(work, key, {.repeat = 3}).peak_requested_active, work.peak_requested) << key;
  }
}

TEST(Compare, private_pools_do_not_share) {
  WorkloadBuilder builder;
  builder.begin_window();
  builder.free(builder.allocate(32_MiB, kDefaultStream, PoolId{0, 7}));
  builder.free(builder.allocate(32_MiB));
  const Workload work = builder.finish();
  for (const std::string_view key : {"pytorch", "exact-size", "bins"}) {
    EXPECT_EQ(run(work, key).peak_reserved, 64_MiB) << key;
  }
  EXPECT_EQ(run(work, "packed").peak_reserved, 32_MiB);
}

TEST(Compare, what_cannot_be_simulated_is_refused) {
  EXPECT_EQ(run_policy(doubling(), "best").error().code, ErrorCode::invalid);
  WorkloadBuilder builder;
  builder.begin_window();
  for (int i = 0; i < 9; ++i) builder.allocate(Bytes{1ull << 40});
  const Result<CompareRun> large = run_policy(builder.finish(), "bound");
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("more than the 8 TiB"));
  builder.begin_window();
  builder.allocate(1_KiB, StreamId{5000});
  const Result<CompareRun> many = run_policy(builder.finish(), "bound");
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().message, HasSubstr("more than the 4,096"));
}

TEST(Compare, nothing_at_all_is_compared_too) {
  WorkloadBuilder builder;
  const Workload nothing = builder.finish();
  builder.begin_window();
  builder.free(builder.allocate(0_B));
  const Workload empty_request = builder.finish();
  for (const PolicyEntry& policy : policy_table()) {
    EXPECT_EQ(run(nothing, policy.key).peak_reserved, 0_B) << policy.key;
    EXPECT_EQ(run(nothing, policy.key).fragmentation(), 0) << policy.key;
    EXPECT_EQ(run(empty_request, policy.key).peak_reserved, 0_B) << policy.key;
    EXPECT_EQ(run(empty_request, policy.key).ooms, 0u) << policy.key;
  }
}

TEST(Compare, ranks_by_peak_reserved_and_then_by_the_table) {
  std::vector<CompareRun> runs(4);
  runs[0] = {.policy = "paged", .peak_reserved = 5_MiB};
  runs[1] = {.policy = "bins", .peak_reserved = 5_MiB};
  runs[2] = {.policy = "pytorch", .peak_reserved = 7_MiB};
  runs[3] = {.policy = "bound", .peak_reserved = 4_MiB};
  rank(runs);
  EXPECT_EQ(runs[0].policy, "bound");
  EXPECT_EQ(runs[1].policy, "bins");
  EXPECT_EQ(runs[2].policy, "paged");
  EXPECT_EQ(runs[3].policy, "pytorch");
}

TEST(PolicyTable, takes_lists_of_keys) {
  EXPECT_EQ(parse_policies("all")->size(), policy_table().size());
  const auto some = parse_policies("packed,pytorch,packed");
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[0]->key, "packed");
  EXPECT_EQ((*some)[1]->key, "pytorch");
  for (const std::string_view wrong : {"", "pytorch,", ",pytorch", "paged,best", "Pytorch", "all,paged"}) {
    const auto refused = parse_policies(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("exact-size"));
  }
}

}  // namespace
}  // namespace quarry::tools
