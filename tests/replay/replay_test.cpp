#include "tools/replay/replay.h"

#include <gtest/gtest.h>

#include "replay/hand_made.h"
#include "support/pytorch.h"

namespace quarry::tools {
namespace {

using stats::TraceAction;

DeviceReplay replay(const HandMade& made, const Options& options = pytorch_options(),
                    TieChoice tie = TieChoice::automatic) {
  return replay_device(made.trace, 0, recorded_settings(made.trace.settings), options, tie);
}

// From nothing: a small segment, two blocks, the first one freed and taken again. `taken` is where the last one went.
HandMade short_story(Address taken = kSmallBase) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small);
  if (taken == kSmallBase) {
    made.block(512, BlockState::live, 200).block(1024, BlockState::live, 1000).block(2 * kMiB - 1536, BlockState::free);
  } else {
    made.block(512, BlockState::free).block(1024, BlockState::live, 1000).block(512, BlockState::live, 200);
    made.block(2 * kMiB - 2048, BlockState::free);
  }
  made.entry(TraceAction::segment_alloc, kSmallBase, 2 * kMiB);
  made.alloc(kSmallBase, 100).alloc(kSmallBase + Bytes{512}, 1000).free(kSmallBase, 100).alloc(taken, 200);
  return made;
}

TEST(Replay, a_sound_recording_matches) {
  const DeviceReplay got = replay(short_story());
  EXPECT_EQ(got.verdict, Verdict::matched);
  ASSERT_TRUE(got.run);
  EXPECT_EQ(got.run->allocations, 3u);
  EXPECT_EQ(got.run->checked, 3u);
  EXPECT_EQ(got.run->matched, 3u);
  EXPECT_EQ(got.run->frees, 1u);
  EXPECT_EQ(got.run->peak_requested.count, 1200u);
  EXPECT_EQ(got.run->peak_allocated.count, 1536u);
  EXPECT_EQ(got.run->peak_reserved.count, 2 * kMiB);
  EXPECT_DOUBLE_EQ(got.run->fragmentation(), 2.0 * kMiB / 1200.0);
  const auto grow = static_cast<std::size_t>(sim::Call::allocate_segment);
  EXPECT_EQ(got.run->driver_calls[grow], 1u);
  EXPECT_GT(got.run->driver_us, 0);
  EXPECT_FALSE(got.run->first_mismatch);
}

TEST(Replay, a_wrong_address_is_found_and_explained) {
  const Address behind = kSmallBase + Bytes{1536};
  const DeviceReplay got = replay(short_story(behind));
  EXPECT_EQ(got.verdict, Verdict::mismatched);
  ASSERT_TRUE(got.run);
  EXPECT_EQ(got.run->matched, 2u);
  ASSERT_TRUE(got.run->first_mismatch);
  const Mismatch& first = *got.run->first_mismatch;
  EXPECT_EQ(first.entry, 5u);
  EXPECT_EQ(first.size.count, 200u);
  EXPECT_EQ(first.recorded, behind);
  EXPECT_EQ(first.chosen, kSmallBase);
  ASSERT_TRUE(first.recorded_site && first.chosen_site);
  EXPECT_EQ(first.recorded_site->block_size.count, 2 * kMiB - 1536);
  EXPECT_EQ(first.chosen_site->block_size.count, 512u);
  EXPECT_EQ(first.chosen_site->segment, kSmallBase);
  EXPECT_EQ(first.chosen_site->segment_size.count, 2 * kMiB);
  EXPECT_NE(first.text.find("ours is the smaller of the two"), std::string::npos) << first.text;
}

// Two wholly free segments of equal size: the one at the higher address is the older one.
HandMade tie(Address taken) {
  const Address low = kLargeBase;
  const Address high = kLargeBase + Bytes{100 * kMiB};
  HandMade made;
  for (const Address base : {low, high}) {
    made.segment(base, 16 * kMiB, SizeClass::large)
        .block(16 * kMiB, base == taken ? BlockState::live : BlockState::free);
  }
  made.entry(TraceAction::segment_alloc, high, 16 * kMiB).alloc(high, 16 * kMiB);
  made.entry(TraceAction::segment_alloc, low, 16 * kMiB).alloc(low, 16 * kMiB);
  made.free(low, 16 * kMiB).free(high, 16 * kMiB).alloc(taken, 16 * kMiB);
  return made;
}

TEST(Replay, the_tie_break_is_found_out) {
  const DeviceReplay by_age = replay(tie(kLargeBase + Bytes{100 * kMiB}));
  EXPECT_EQ(by_age.verdict, Verdict::matched);
  EXPECT_EQ(by_age.run->options.tie_break, TieBreak::segment);
  const DeviceReplay by_address = replay(tie(kLargeBase));
  EXPECT_EQ(by_address.verdict, Verdict::matched);
  EXPECT_EQ(by_address.run->options.tie_break, TieBreak::address);
}

TEST(Replay, a_given_tie_break_is_kept) {
  const DeviceReplay got = replay(tie(kLargeBase), pytorch_options(), TieChoice::segment);
  EXPECT_EQ(got.verdict, Verdict::mismatched);
  ASSERT_TRUE(got.run->first_mismatch);
  EXPECT_NE(got.run->first_mismatch->text.find("the tie-break decides"), std::string::npos);
}

TEST(Replay, a_block_used_by_another_stream_stays_until_it_is_completed) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small);
  made.block(512, BlockState::live, 512).block(512, BlockState::live, 300).block(2 * kMiB - 1024, BlockState::free);
  made.entry(TraceAction::segment_alloc, kSmallBase, 2 * kMiB).alloc(kSmallBase, 512);
  made.requested(kSmallBase, 512).alloc(kSmallBase + Bytes{512}, 300).completed(kSmallBase, 512).alloc(kSmallBase, 512);
  const DeviceReplay got = replay(made);
  EXPECT_EQ(got.verdict, Verdict::matched);
  EXPECT_EQ(got.run->foreign_uses, 1u);
  EXPECT_EQ(got.run->frees, 1u);
  EXPECT_EQ(got.run->peak_requested.count, 812u);  // 512 + 300 at the end; while it was pending only 300
  EXPECT_EQ(got.run->peak_allocated.count, 1024u);
}

TEST(Replay, the_start_counts_for_the_peaks_and_not_as_allocations) {
  HandMade made;
  made.segment(kLargeBase, 20 * kMiB, SizeClass::large).block(20 * kMiB, BlockState::free);
  made.free(kLargeBase, 4 * kMiB);
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 10)
      .block(2 * kMiB - 512, BlockState::free);
  made.alloc(kSmallBase, 10);
  const DeviceReplay got = replay(made);
  EXPECT_EQ(got.verdict, Verdict::matched);
  EXPECT_EQ(got.run->allocations, 1u);
  EXPECT_EQ(got.run->peak_requested.count, 4 * kMiB);
  EXPECT_EQ(got.run->peak_reserved.count, 22 * kMiB);
  EXPECT_EQ(got.run->driver_calls, decltype(got.run->driver_calls){});
}

TEST(Replay, recorded_releases_are_applied_where_they_were) {
  HandMade made;
  made.segment(kLargeBase, 16 * kMiB, SizeClass::large).block(16 * kMiB, BlockState::live);
  made.entry(TraceAction::segment_alloc, kLargeBase, 20 * kMiB).alloc(kLargeBase, 2 * kMiB).free(kLargeBase, 2 * kMiB);
  made.entry(TraceAction::segment_free, kLargeBase, 20 * kMiB);
  made.entry(TraceAction::segment_alloc, kLargeBase, 16 * kMiB).alloc(kLargeBase, 16 * kMiB);
  const DeviceReplay got = replay(made);
  EXPECT_EQ(got.verdict, Verdict::matched);
  EXPECT_EQ(got.run->releases_refused, 0u);
  EXPECT_EQ(got.run->peak_reserved.count, 20 * kMiB);
}

TEST(Replay, other_options_part_from_the_recording_and_the_segments_are_named) {
  HandMade made;
  made.segment(kLargeBase, 34 * kMiB, SizeClass::large).block(34 * kMiB, BlockState::live);
  made.entry(TraceAction::segment_alloc, kLargeBase, 34 * kMiB).alloc(kLargeBase, 34 * kMiB);
  Options options = pytorch_options();
  options.roundup_power2_divisions.fill(4);
  const DeviceReplay got = replay(made, options);
  EXPECT_EQ(got.verdict, Verdict::mismatched);
  const Mismatch& first = *got.run->first_mismatch;
  ASSERT_TRUE(first.recorded_site && first.chosen_site);
  EXPECT_TRUE(first.recorded_site->fresh);
  EXPECT_EQ(first.recorded_site->segment_size.count, 34 * kMiB);
  EXPECT_TRUE(first.chosen_site->fresh);
  EXPECT_EQ(first.chosen_site->segment_size.count, 40 * kMiB);
  EXPECT_NE(first.text.find("the rounding differs"), std::string::npos) << first.text;
}

TEST(Replay, a_request_that_we_refuse_is_a_mismatch) {
  HandMade made;
  made.segment(kLargeBase, 1ull << 60, SizeClass::large).block(1ull << 60, BlockState::live);
  made.entry(TraceAction::segment_alloc, kLargeBase, 1ull << 60).alloc(kLargeBase, 1ull << 60);
  const DeviceReplay got = replay(made);
  EXPECT_EQ(got.verdict, Verdict::mismatched);
  ASSERT_TRUE(got.run && got.run->first_mismatch);
  EXPECT_EQ(got.run->first_mismatch->chosen, Address{});
  EXPECT_NE(got.run->first_mismatch->text.find("refused"), std::string::npos);
}

TEST(Replay, segments_alone_are_described_and_nothing_is_checked) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 9)
      .block(2 * kMiB - 512, BlockState::pending);
  made.completed(kLargeBase, 512);  // without an alloc entry there is nothing to compare
  const DeviceReplay got = replay(made);
  EXPECT_EQ(got.verdict, Verdict::nothing_to_check);
  EXPECT_FALSE(got.run);
  EXPECT_EQ(got.segments, 1u);
  EXPECT_EQ(got.reserved.count, 2 * kMiB);
  EXPECT_EQ(got.live_blocks, 1u);
  EXPECT_EQ(got.allocated.count, 512u);
}

TEST(Replay, a_start_with_expandable_segments_is_skipped_with_the_reason) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 1)
      .block(2 * kMiB - 512, BlockState::free);
  made.device().segments.back().expandable = true;
  made.alloc(kSmallBase, 1);
  EXPECT_EQ(replay(made).verdict, Verdict::skipped);
  EXPECT_NE(replay(made).reasons.at(0).find("mid-run"), std::string::npos);
}

TEST(Replay, requests_of_a_private_pool_get_segments_of_their_own) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 1)
      .block(2 * kMiB - 512, BlockState::free);
  made.device().segments.back().pool = made.trace.pool_index({0, 1});
  made.entry(TraceAction::segment_alloc, kSmallBase, 2 * kMiB).alloc(kSmallBase, 1);
  for (stats::TraceEntry& entry : made.device().entries) entry.pool = made.trace.pool_index({0, 1});
  EXPECT_EQ(replay(made).verdict, Verdict::matched);
}

TEST(Replay, a_file_that_contradicts_itself_is_not_run) {
  HandMade blocks = short_story();
  blocks.device().segments.front().total_size = {4 * kMiB};
  EXPECT_EQ(replay(blocks).verdict, Verdict::inconsistent);
  EXPECT_FALSE(replay(blocks).run);
  HandMade entries = short_story();
  entries.alloc(kLargeBase, 512);
  const DeviceReplay got = replay(entries);
  EXPECT_EQ(got.verdict, Verdict::inconsistent);
  EXPECT_EQ(got.rewind_misses, 1u);
  EXPECT_FALSE(got.run);
  EXPECT_FALSE(got.reasons.empty());
}

TEST(Replay, a_start_beyond_the_address_space_is_an_inconsistent_file) {
  HandMade made;
  made.segment(Address{~0ull - 4 * kMiB + 1}, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 9)
      .block(2 * kMiB - 512, BlockState::free);
  made.alloc(Address{~0ull - 4 * kMiB + 1}, 9);
  const DeviceReplay got = replay(made);
  EXPECT_EQ(got.verdict, Verdict::inconsistent);
  EXPECT_FALSE(got.reasons.empty());
}

}  // namespace
}  // namespace quarry::tools
