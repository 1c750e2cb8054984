// The state that going back over a recording finds at an entry, against the one that running forward to it has.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <quarry/stats/read.h>

#include "tools/replay/player.h"
#include "tools/replay/settings.h"

namespace quarry::tools {
namespace {

using stats::TraceAction;

std::vector<BlockView> used_blocks(const SegmentView& segment) {
  std::vector<BlockView> used;
  std::ranges::copy_if(segment.blocks, std::back_inserter(used),
                       [](const BlockView& b) { return b.state != BlockState::free; });
  return used;
}

// What `back` says of the `i`th block must be what `forth` had, but for one thing no recording tells: a leftover of up
// to 1 MiB that is followed by a free block, as long as nothing is put behind it before it goes.
void expect_same_block(const SegmentView& segment, const std::vector<BlockView>& back, const BlockView& forth,
                       std::size_t i) {
  EXPECT_EQ(back[i].address, forth.address);
  EXPECT_EQ(back[i].requested, forth.requested);
  if (back[i].size == forth.size) return;
  const Address next = i + 1 < back.size() ? back[i + 1].address : segment.address + segment.size;
  EXPECT_EQ(segment.size_class, SizeClass::large);
  EXPECT_LT(back[i].size, forth.size);
  EXPECT_LE(forth.size - back[i].size, Bytes{1 << 20});
  EXPECT_GT(next - (forth.address + forth.size), Bytes{1 << 20});
}

void expect_same_state(const Snapshot& back, const Snapshot& forth) {
  ASSERT_EQ(back.segments.size(), forth.segments.size());
  for (std::size_t i = 0; i < back.segments.size(); ++i) {
    const SegmentView& segment = back.segments[i];
    EXPECT_EQ(segment.address, forth.segments[i].address);
    EXPECT_EQ(segment.size, forth.segments[i].size);
    EXPECT_EQ(segment.size_class, forth.segments[i].size_class);
    const std::vector<BlockView> ours = used_blocks(segment);
    const std::vector<BlockView> theirs = used_blocks(forth.segments[i]);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t k = 0; k < ours.size(); ++k) expect_same_block(segment, ours, theirs[k], k);
  }
}

// The first place from `entry` on that parts neither a segment from its first block nor a free from its completion.
std::size_t next_quiet_place(const std::vector<stats::TraceEntry>& entries, std::size_t entry) {
  while (entry < entries.size() && (entries[entry - 1].action == TraceAction::segment_alloc ||
                                    entries[entry].action == TraceAction::free_completed)) {
    ++entry;
  }
  return entry;
}

class RewindRecording : public testing::TestWithParam<const char*> {};

TEST_P(RewindRecording, back_and_forth_meet) {
  Result<stats::Trace> trace =
      stats::read_snapshot(std::string(QUARRY_TEST_DATA) + "/traces/" + GetParam() + ".pickle.gz");
  ASSERT_TRUE(trace);
  const Options options = recorded_settings(trace->settings).options;
  const Rewound start = rewind(*trace, 0, options);
  const Program program = make_program(trace->devices[0], start);
  Result<std::unique_ptr<Player>> player = Player::open(program, start, options);
  ASSERT_TRUE(player);

  std::vector<stats::TraceEntry>& entries = trace->devices[0].entries;
  const std::vector<stats::TraceEntry> whole = entries;
  for (std::size_t part = 1; part < 8; ++part) {
    const std::size_t cut = next_quiet_place(whole, whole.size() * part / 8);
    const auto op = std::ranges::find_if(program.ops, [&](const Op& one) { return one.entry >= cut; });
    (*player)->run_to(static_cast<std::size_t>(op - program.ops.begin()));
    EXPECT_EQ((*player)->validate(), "");
    entries.assign(whole.begin() + static_cast<std::ptrdiff_t>(cut), whole.end());
    const Rewound rewound = rewind(*trace, 0, options);
    EXPECT_TRUE(rewound.consistent()) << cut;
    SCOPED_TRACE(cut);
    expect_same_state(rewound.state, (*player)->snapshot());
  }
}

INSTANTIATE_TEST_SUITE_P(Replay, RewindRecording,
                         testing::Values("mlp_adam", "resnet", "gpt2_checkpoint", "varlen", "varlen_roundup",
                                         "varlen_max_split", "varlen_gc", "oom_growing_batch"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace quarry::tools
