#include "tools/replay/rewind.h"

#include <gtest/gtest.h>

#include "replay/hand_made.h"

namespace quarry::tools {
namespace {

using stats::TraceAction;

Rewound rewound(const HandMade& made, const Options& recorded = {}) { return rewind(made.trace, 0, recorded); }

TEST(Rewind, a_whole_recording_starts_with_nothing) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 100)
      .block(2 * kMiB - 512, BlockState::free);
  made.entry(TraceAction::segment_alloc, kSmallBase, 2 * kMiB)
      .alloc(kSmallBase, 300)
      .free(kSmallBase, 300)
      .alloc(kSmallBase, 100);
  const Rewound start = rewound(made);
  EXPECT_TRUE(start.consistent());
  EXPECT_EQ(start.misses, 0u);
  EXPECT_TRUE(start.state.segments.empty());
}

TEST(Rewind, blocks_known_only_by_their_request_are_rounded) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small).block(2 * kMiB, BlockState::free);
  made.free(kSmallBase + Bytes{1024}, 513);
  const Rewound start = rewound(made);
  ASSERT_EQ(start.state.segments.size(), 1u);
  ASSERT_EQ(start.state.segments[0].blocks.size(), 1u);
  const BlockView& block = start.state.segments[0].blocks[0];
  EXPECT_EQ(block.address, kSmallBase + Bytes{1024});  // the gap before it is free
  EXPECT_EQ(block.size.count, 1024u);                  // and in a small segment the one after it too
  EXPECT_EQ(block.requested.count, 513u);
  EXPECT_EQ(block.state, BlockState::live);
}

TEST(Rewind, rounding_follows_the_recorded_divisions) {
  HandMade made;
  made.segment(kLargeBase, 1024 * kMiB, SizeClass::large).block(1024 * kMiB, BlockState::free);
  made.free(kLargeBase, 514 * kMiB);
  Options recorded;
  recorded.roundup_power2_divisions.fill(4);
  EXPECT_EQ(rewound(made, recorded).state.segments.at(0).blocks.at(0).size.count, 640 * kMiB);
  EXPECT_EQ(rewound(made).state.segments.at(0).blocks.at(0).size.count, 514 * kMiB);
}

TEST(Rewind, a_gap_of_up_to_1_mib_belongs_to_the_large_block_before_it) {
  for (const std::uint64_t gap : {std::uint64_t{512}, kMiB, kMiB + 512}) {
    HandMade made;
    made.segment(kLargeBase, 20 * kMiB, SizeClass::large).block(20 * kMiB, BlockState::free);
    made.free(kLargeBase, 20 * kMiB - gap);
    const BlockView block = rewound(made).state.segments.at(0).blocks.at(0);
    EXPECT_EQ(block.size.count, gap <= kMiB ? 20 * kMiB : 20 * kMiB - gap) << gap;
    EXPECT_EQ(block.requested.count, 20 * kMiB - gap);
  }
}

TEST(Rewind, the_gap_may_also_lie_between_two_blocks) {
  HandMade made;
  made.segment(kLargeBase, 20 * kMiB, SizeClass::large).block(20 * kMiB, BlockState::free);
  made.free(kLargeBase, 2 * kMiB).free(kLargeBase + Bytes{3 * kMiB}, 2 * kMiB);
  const Rewound start = rewound(made);
  EXPECT_EQ(start.state.segments.at(0).blocks.at(0).size.count, 3 * kMiB);
  EXPECT_EQ(start.state.segments.at(0).blocks.at(1).size.count, 2 * kMiB);
}

// The block behind the leftover is free at the start, so the gap is too large to tell; the request that is put there
// does.
TEST(Rewind, a_request_behind_a_block_shows_where_the_block_ends) {
  const Address behind = kLargeBase + Bytes{3 * kMiB};
  HandMade made;
  made.segment(kLargeBase, 20 * kMiB, SizeClass::large).block(20 * kMiB, BlockState::free);
  made.alloc(behind, 4 * kMiB).free(behind, 4 * kMiB).free(kLargeBase, 2 * kMiB + 512);
  EXPECT_EQ(rewound(made).state.segments.at(0).blocks.at(0).size.count, 3 * kMiB);
}

TEST(Rewind, an_oversize_block_keeps_what_the_search_may_give_it) {
  HandMade made;
  made.segment(kLargeBase, 140 * kMiB, SizeClass::large).block(140 * kMiB, BlockState::free);
  made.free(kLargeBase, 130 * kMiB);
  Options recorded;
  recorded.max_split_size = {128 * kMiB};
  EXPECT_EQ(rewound(made, recorded).state.segments.at(0).blocks.at(0).size.count, 140 * kMiB);
  EXPECT_EQ(rewound(made).state.segments.at(0).blocks.at(0).size.count, 130 * kMiB);
}

TEST(Rewind, a_block_completed_without_a_request_was_pending_at_the_start) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small).block(2 * kMiB, BlockState::free);
  made.completed(kSmallBase, 512).free(kSmallBase + Bytes{512}, 512);
  const Rewound start = rewound(made);
  EXPECT_EQ(start.state.segments.at(0).blocks.at(0).state, BlockState::pending);
  EXPECT_EQ(start.state.segments.at(0).blocks.at(1).state, BlockState::live);
}

TEST(Rewind, released_segments_come_back_and_segments_are_numbered_by_address) {
  HandMade made;
  made.segment(kLargeBase, 20 * kMiB, SizeClass::large, 5).block(20 * kMiB, BlockState::free);
  made.entry(TraceAction::segment_free, kSmallBase, 2 * kMiB, 7);
  const Rewound start = rewound(made);
  ASSERT_EQ(start.state.segments.size(), 2u);
  EXPECT_EQ(start.state.segments[0].address, kSmallBase);
  EXPECT_EQ(start.state.segments[0].size_class, SizeClass::small);
  EXPECT_EQ(start.state.segments[0].number, SegmentNumber{0});
  EXPECT_EQ(start.state.segments[1].number, SegmentNumber{1});
  EXPECT_EQ(start.state.streams, (std::vector<std::uint64_t>{0, 5, 7}));
  EXPECT_EQ(start.state.segments[0].stream, StreamId{2});
}

TEST(Rewind, pools_are_told_or_guessed) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 1)
      .block(2 * kMiB - 512, BlockState::free);
  made.alloc(kSmallBase, 1);
  made.device().entries.back().pool = stats::kUnknownPool;
  EXPECT_EQ(rewound(made).guessed_pools, 0u);  // its segment tells
  made.device().segments.back().pool = stats::kUnknownPool;
  EXPECT_EQ(rewound(made).guessed_pools, 1u);
  EXPECT_TRUE(rewound(made).pools.empty());
  made.device().segments.back().pool = made.trace.pool_index({0, 1});
  const Rewound start = rewound(made);
  ASSERT_EQ(start.pools.size(), 1u);  // by the index of the alloc entry
  EXPECT_EQ(start.pools.begin()->second, (PoolId{0, 1}));
}

// Mapped runs lose what was mapped into them and get back what was unmapped; touching runs are one.
TEST(Rewind, runs_of_pages_are_undone) {
  HandMade made;
  made.segment(kSmallBase, 4 * kMiB, SizeClass::small).block(4 * kMiB, BlockState::free);
  made.device().segments.back().expandable = true;
  made.entry(TraceAction::segment_map, kSmallBase, 6 * kMiB);
  made.entry(TraceAction::segment_unmap, kSmallBase + Bytes{4 * kMiB}, 2 * kMiB);
  const Rewound empty = rewound(made);
  EXPECT_TRUE(empty.consistent());
  EXPECT_TRUE(empty.state.segments.empty());
  EXPECT_FALSE(empty.expandable);
  made.device().entries.erase(made.device().entries.begin());
  const Rewound start = rewound(made);
  ASSERT_EQ(start.state.segments.size(), 1u);
  EXPECT_EQ(start.state.segments[0].size.count, 6 * kMiB);
  EXPECT_TRUE(start.expandable);
}

// One contradiction each: counted once, and put into words.
struct Contradiction {
  const char* name;
  void (*add)(HandMade&);
  const char* words;
};

class RewindMiss : public testing::TestWithParam<Contradiction> {};

TEST_P(RewindMiss, is_counted_and_told) {
  HandMade made;
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small)
      .block(512, BlockState::live, 1)
      .block(2 * kMiB - 512, BlockState::free);
  ASSERT_TRUE(rewound(made).consistent());
  GetParam().add(made);
  const Rewound start = rewound(made);
  EXPECT_EQ(start.misses, 1u);
  EXPECT_FALSE(start.consistent());
  ASSERT_EQ(start.problems.size(), 1u);
  EXPECT_NE(start.problems[0].find(GetParam().words), std::string::npos) << start.problems[0];
  EXPECT_EQ(start.problems[0].find("entry 0: "), 0u) << start.problems[0];
}

INSTANTIATE_TEST_SUITE_P(
    Rewind, RewindMiss,
    testing::Values(
        Contradiction{"unknown_alloc", [](HandMade& m) { m.alloc(kSmallBase + Bytes{4096}, 512); },
                      "no block is there"},
        Contradiction{"too_large", [](HandMade& m) { m.alloc(kSmallBase, 513); }, "smaller"},
        Contradiction{"freed_while_live", [](HandMade& m) { m.completed(kSmallBase, 512); }, "another block"},
        Contradiction{"overlap_from_below", [](HandMade& m) { m.completed(kSmallBase + Bytes{256}, 512); },
                      "another block"},
        Contradiction{"outside", [](HandMade& m) { m.completed(kLargeBase, 512); }, "in no segment"},
        Contradiction{"over_the_end", [](HandMade& m) { m.completed(kSmallBase + Bytes{2 * kMiB - 512}, 1024); },
                      "in no segment"},
        Contradiction{"no_size", [](HandMade& m) { m.completed(kSmallBase + Bytes{4096}, 0); },
                      "no block has this size"},
        Contradiction{"absurd_size", [](HandMade& m) { m.completed(kSmallBase + Bytes{4096}, ~0ull); },
                      "no block has this size"},
        Contradiction{"never_completed", [](HandMade& m) { m.requested(kSmallBase + Bytes{4096}, 512); },
                      "never completed"},
        Contradiction{"other_segment_size", [](HandMade& m) { m.entry(TraceAction::segment_alloc, kSmallBase, kMiB); },
                      "no segment of this size"},
        Contradiction{"older_block", [](HandMade& m) { m.entry(TraceAction::segment_alloc, kSmallBase, 2 * kMiB); },
                      "older"},
        Contradiction{"segment_twice", [](HandMade& m) { m.entry(TraceAction::segment_free, kSmallBase, 2 * kMiB); },
                      "another segment"},
        Contradiction{"segment_into_next",
                      [](HandMade& m) { m.entry(TraceAction::segment_free, kSmallBase - Bytes{kMiB}, 2 * kMiB); },
                      "another segment"},
        Contradiction{"segment_wraps", [](HandMade& m) { m.entry(TraceAction::segment_free, kLargeBase, ~0ull); },
                      "another segment"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(SegmentProblems, sound_segments_have_none) {
  HandMade made;
  made.segment(kLargeBase, 20 * kMiB, SizeClass::large).block(20 * kMiB, BlockState::free);
  made.segment(kSmallBase, 2 * kMiB, SizeClass::small);  // a list of no blocks says nothing; order does not matter
  EXPECT_TRUE(segment_problems(made.device()).empty());
}

TEST(SegmentProblems, name_the_segment_and_the_rule) {
  const auto problem_of = [](const HandMade& made) {
    const auto problems = segment_problems(made.trace.devices[0]);
    return problems.size() == 1 ? problems[0] : "not one problem";
  };
  HandMade sum;
  sum.segment(kSmallBase, 2 * kMiB, SizeClass::small).block(512, BlockState::live);
  EXPECT_NE(problem_of(sum).find("add up to 512 bytes, its total_size is 2097152"), std::string::npos);
  HandMade hole;
  hole.segment(kSmallBase, 1024, SizeClass::small).block(512, BlockState::live).block(512, BlockState::live);
  hole.device().segments[0].blocks[1].address = kSmallBase + Bytes{600};
  EXPECT_NE(problem_of(hole).find("should begin at"), std::string::npos);
  HandMade empty;
  empty.segment(kSmallBase, 0, SizeClass::small);
  EXPECT_NE(problem_of(empty).find("cannot have 0 bytes"), std::string::npos);
  HandMade overlap;
  overlap.segment(kSmallBase, 2 * kMiB, SizeClass::small).segment(kSmallBase + Bytes{kMiB}, 2 * kMiB, SizeClass::small);
  EXPECT_NE(problem_of(overlap).find("overlap"), std::string::npos);
  HandMade wraps;
  wraps.segment(Address{~0ull - 511}, 1024, SizeClass::small);
  EXPECT_NE(problem_of(wraps).find("cannot have 1024 bytes"), std::string::npos);
}

TEST(SegmentProblems, are_told_in_a_few_lines_only) {
  HandMade made;
  for (std::uint64_t i = 0; i < 100; ++i) made.segment(kSmallBase + Bytes{i * kMiB}, 0, SizeClass::small);
  EXPECT_LE(segment_problems(made.device()).size(), 4u);
}

}  // namespace
}  // namespace quarry::tools
