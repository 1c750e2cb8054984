#include "tools/replay/settings.h"

#include <gtest/gtest.h>

#include "replay/hand_made.h"

namespace quarry::tools {
namespace {

RecordedSettings from_conf(std::string conf) {
  stats::TraceSettings settings;
  settings.conf = std::move(conf);
  return recorded_settings(settings);
}

TEST(RecordedSettings, options_that_decide_addresses_come_from_the_option_string) {
  const RecordedSettings got =
      from_conf("max_split_size_mb: 128,large_segment_size_mb:40, roundup_power2_divisions:[64:8,>:2]");
  EXPECT_EQ(got.options.max_split_size.count, 128 * kMiB);
  EXPECT_EQ(got.options.large_segment_size.count, 40 * kMiB);
  EXPECT_EQ(got.options.roundup_power2_divisions[6], 8u);
  EXPECT_EQ(got.options.roundup_power2_divisions[15], 2u);
  EXPECT_EQ(origin_of(got.options, "max_split_size_mb"), Origin::file);
  EXPECT_EQ(origin_of(got.options, "tie_break"), Origin::default_value);
  EXPECT_TRUE(got.notes.empty());
  EXPECT_FALSE(got.options.expandable_segments);
}

TEST(RecordedSettings, what_was_in_force_wins_over_the_string) {
  stats::TraceSettings settings;
  settings.conf = "max_split_size_mb:128";
  settings.max_split_size = 256 * static_cast<std::int64_t>(kMiB);
  settings.roundup_power2_divisions = {{1, 4}, {32768, 8}};
  const RecordedSettings got = recorded_settings(settings);
  EXPECT_EQ(got.options.max_split_size.count, 256 * kMiB);
  EXPECT_EQ(got.options.roundup_power2_divisions[0], 4u);
  EXPECT_EQ(got.options.roundup_power2_divisions[15], 8u);
  EXPECT_EQ(origin_of(got.options, "roundup_power2_divisions"), Origin::file);
}

TEST(RecordedSettings, limits_are_left_to_the_recording_and_told) {
  const RecordedSettings got = from_conf("garbage_collection_threshold:0.7,per_process_memory_fraction:0.9");
  EXPECT_EQ(got.options.per_process_memory_fraction, 1.0);
  ASSERT_EQ(got.notes.size(), 2u);
  EXPECT_NE(got.notes[0].find("garbage_collection_threshold:0.7"), std::string::npos);
}

TEST(RecordedSettings, expandable_segments_are_seen_in_either_place) {
  EXPECT_TRUE(from_conf("expandable_segments:True").options.expandable_segments);
  EXPECT_FALSE(from_conf("expandable_segments:False").options.expandable_segments);
  stats::TraceSettings settings;
  settings.expandable_segments = true;
  EXPECT_TRUE(recorded_settings(settings).options.expandable_segments);
}

TEST(RecordedSettings, values_that_break_a_rule_are_told_and_not_applied) {
  EXPECT_EQ(from_conf("max_split_size_mb:2").notes.size(), 1u);
  EXPECT_EQ(from_conf("max_split_size_mb:2").options.max_split_size, kUnlimited);
  stats::TraceSettings settings;
  settings.roundup_power2_divisions = {{3, 4}, {1, 3}, {1ull << 40, 4}};
  const RecordedSettings got = recorded_settings(settings);
  EXPECT_EQ(got.notes.size(), 2u);
  EXPECT_EQ(got.options.roundup_power2_divisions, RoundupDivisions{});
}

TEST(WithoutLimits, takes_off_bounds_and_says_so) {
  std::vector<std::string> notes;
  Options options;
  options.memory_limit = {kMiB};
  options.per_process_memory_fraction = 0.5;
  options.max_split_size = {64 * kMiB};
  const Options got = without_limits(options, notes);
  EXPECT_EQ(got.memory_limit, kUnlimited);
  EXPECT_EQ(got.per_process_memory_fraction, 1.0);
  EXPECT_EQ(got.max_split_size.count, 64 * kMiB);
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_EQ(without_limits(Options{}, notes), Options{});
  EXPECT_EQ(notes.size(), 2u);
}

}  // namespace
}  // namespace quarry::tools
