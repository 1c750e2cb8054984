#include <quarry/allocator/options.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace quarry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace literals;

Result<Options> parse(std::string_view text) { return parse_options(text, Options{}, Origin::api); }

std::string error_of(std::string_view text) {
  const Result<Options> parsed = parse(text);
  return parsed ? "accepted" : parsed.error().message;
}

Options parsed(std::string_view text) {
  const Result<Options> options = parse(text);
  EXPECT_TRUE(options) << text << ": " << options.error().message;
  return options ? *options : Options{};
}

std::size_t index_of(std::string_view key) {
  std::size_t i = 0;
  while (i < option_table().size() && option_table()[i].key != key) ++i;
  return i;
}

TEST(Options, EmptyTextChangesNothing) {
  EXPECT_EQ(parsed(""), Options{});
  EXPECT_EQ(parsed(" \t\n"), Options{});
}

TEST(Options, EveryKeyReachesItsField) {
  EXPECT_EQ(parsed("tie_break:address").tie_break, TieBreak::address);
  EXPECT_EQ(parsed("memory_limit_mb:100").memory_limit, 100_MiB);
  EXPECT_EQ(parsed("large_segment_size_mb:11").large_segment_size, 11_MiB);
  EXPECT_EQ(parsed("max_split_size_mb:20").max_split_size, 20_MiB);
  EXPECT_EQ(parsed("max_non_split_rounding_mb:21").max_non_split_rounding, 21_MiB);
  EXPECT_EQ(parsed("per_process_memory_fraction:0.25").per_process_memory_fraction, 0.25);
  EXPECT_TRUE(parsed("host_huge_pages:True").host_huge_pages);
  EXPECT_EQ(parsed("host_numa:interleave").host_numa, HostNuma::interleave);
  EXPECT_TRUE(parsed("pinned_use_cuda_host_register:True").pinned_use_cuda_host_register);
  EXPECT_EQ(parsed("pinned_num_register_threads:8").pinned_num_register_threads, 8u);
  EXPECT_TRUE(parsed("pinned_use_background_threads:True").pinned_use_background_threads);
  EXPECT_TRUE(parsed("pinned_free_catch_all:True").pinned_free_catch_all);
  EXPECT_EQ(parsed("pinned_reserve_segment_size_mb:1").pinned_reserve_segment_size, 1_MiB);
  EXPECT_EQ(parsed("pinned_max_round_threshold_mb:128").pinned_max_round_threshold, 128_MiB);
  EXPECT_EQ(parsed("pinned_max_cached_size_mb:0").pinned_max_cached_size, 0_B);
}

TEST(Options, WhiteSpaceAroundKeysAndValuesIsIgnored) {
  EXPECT_EQ(parsed(" max_split_size_mb : 32 ,\n tie_break:address "), parsed("max_split_size_mb:32,tie_break:address"));
}

TEST(Options, OfAKeyGivenTwiceTheLaterCounts) {
  EXPECT_EQ(parsed("max_split_size_mb:20,max_split_size_mb:40").max_split_size, 40_MiB);
}

TEST(Options, OriginIsNotedForNamedKeysOnly) {
  const Result<Options> first = parse_options("max_split_size_mb:20", Options{}, Origin::environment);
  ASSERT_TRUE(first);
  const Result<Options> second = parse_options("tie_break:segment", *first, Origin::command_line);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->origins[index_of("max_split_size_mb")], Origin::environment);
  EXPECT_EQ(second->origins[index_of("tie_break")], Origin::command_line);
  EXPECT_EQ(second->origins[index_of("backend")], Origin::default_value);
}

TEST(Options, DefaultsWithoutATextInPyTorchHaveAWord) {
  const Options some = parsed("max_split_size_mb:20,max_non_split_rounding_mb:30,pinned_reserve_segment_size_mb:4");
  const Result<Options> back =
      parse_options("max_split_size_mb:unlimited,max_non_split_rounding_mb:auto,pinned_reserve_segment_size_mb:off",
                    some, Origin::default_value);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->max_split_size, kUnlimited);
  EXPECT_EQ(back->max_non_split_rounding, kUnlimited);
  EXPECT_EQ(back->pinned_reserve_segment_size, 0_B);
}

TEST(Options, UnsetNonSplitRoundingFollowsTheLargeSegment) {
  EXPECT_EQ(Options{}.effective_max_non_split_rounding(), 20_MiB);
  EXPECT_EQ(parsed("large_segment_size_mb:40").effective_max_non_split_rounding(), 40_MiB);
  EXPECT_EQ(parsed("large_segment_size_mb:40,max_non_split_rounding_mb:25").effective_max_non_split_rounding(), 25_MiB);
}

struct BadText {
  std::string text;
  std::string says;  // part of the message
};

class RefusedText : public ::testing::TestWithParam<BadText> {};

TEST_P(RefusedText, SaysKeyAndRuleOnOneLine) {
  const Result<Options> result = parse(GetParam().text);
  ASSERT_FALSE(result) << GetParam().text;
  EXPECT_THAT(result.error().message, HasSubstr(GetParam().says));
  EXPECT_THAT(result.error().message, Not(HasSubstr("\n")));
  EXPECT_LT(result.error().message.size(), 300u);
}

INSTANTIATE_TEST_SUITE_P(
    Options, RefusedText,
    ::testing::Values(
        BadText{"max_split_size:40", "unknown option 'max_split_size'; the nearest is 'max_split_size_mb'"},
        BadText{"tiebreak:address", "the nearest is 'tie_break'"},
        BadText{"expandable_segments_reserve:0.5", "the nearest is 'expandable_segments'"},
        BadText{std::string(5000, 'x') + ":1", "unknown option 'xxx"},
        BadText{"max_split_size_mb:40abc", "option max_split_size_mb: must be a whole number of MiB"},
        BadText{"max_split_size_mb:4 0", "must be a whole number"},
        BadText{"max_split_size_mb:+40", "must be a whole number"},
        BadText{"max_split_size_mb:-40", "must be a whole number"},
        BadText{"max_split_size_mb:40.0", "must be a whole number"},
        BadText{"max_split_size_mb:off", "must be a whole number"},
        BadText{"max_split_size_mb:19", "option max_split_size_mb: must be >= 20 MiB or unlimited; got '19'"},
        BadText{"max_split_size_mb:99999999999999", "max_split_size_mb: must be < 2^44 MiB"},
        BadText{"max_split_size_mb:17592186044416", "max_split_size_mb: must be < 2^44 MiB"},
        BadText{"max_split_size_mb:99999999999999999999",
                "max_split_size_mb: must be a whole number of MiB below 2^64"},
        BadText{"large_segment_size_mb:10", "large_segment_size_mb: must be >= 11 MiB"},
        BadText{"large_segment_size_mb:unlimited", "large_segment_size_mb: must be a whole number"},
        BadText{"max_non_split_rounding_mb:19", "max_non_split_rounding_mb: must be >= 20 MiB or auto"},
        BadText{"memory_limit_mb:0", "memory_limit_mb: must be >= 1 MiB"},
        BadText{"policy:other", "policy: must be paged or pytorch"},
        BadText{"tie_break:auto", "tie_break: must be address or segment"},
        BadText{"backend:cudaMallocAsync", "backend: is not supported"},
        BadText{"backend:foo", "backend: must be native"},
        BadText{"per_process_memory_fraction:1.0000001", "from 0 to 1"},
        BadText{"per_process_memory_fraction:nan", "from 0 to 1"},
        BadText{"per_process_memory_fraction:inf", "from 0 to 1"},
        BadText{"per_process_memory_fraction:0.5x", "from 0 to 1"},
        BadText{"garbage_collection_threshold:1.2", "above 0 and below 1"},
        BadText{"garbage_collection_threshold:0", "above 0 and below 1"},
        BadText{"garbage_collection_threshold:1", "above 0 and below 1"},
        BadText{"expandable_segments:true", "expandable_segments: must be exactly True or False"},
        BadText{"release_lock_on_cudamalloc:yes", "release_lock_on_cudamalloc: must be exactly True or False"},
        BadText{"close_holes:1", "close_holes: must be exactly True or False"},
        BadText{"pinned_num_register_threads:0", "a power of two from 1 to 128"},
        BadText{"pinned_num_register_threads:256", "a power of two from 1 to 128"},
        BadText{"pinned_max_cached_size_mb:99999999999999", "2^44"},
        BadText{"max_split_size_mb", "option max_split_size_mb has no value"},
        BadText{"max_split_size_mb:", "option max_split_size_mb has no value"}, BadText{":40", "unknown option ''"},
        BadText{",", "missing between two commas"}, BadText{"max_split_size_mb:40,", "missing between two commas"},
        BadText{"max_split_size_mb:40,,tie_break:address", "missing between two commas"},
        BadText{"max_split_size_mb:40tie_break:address", "max_split_size_mb: must be a whole number"},
        BadText{"max_split_size_mb:40 tie_break:address", "max_split_size_mb: must be a whole number"},
        BadText{"max_split\nsize:1", "unknown option 'max_split?size'"}, BadText{"tie_break:a\x01\xff", "got 'a?"},
        BadText{"max_split_size_mb:[40]", "must be a whole number"}));

TEST(Options, OneBadEntryAppliesNothing) {
  const Options base = parsed("max_split_size_mb:32");
  EXPECT_FALSE(parse_options("max_split_size_mb:64,nonsense:1", base, Origin::api));
  EXPECT_EQ(base.max_split_size, 32_MiB);
}

TEST(Options, WhatIsNotThereYetIsUnsupportedNotInvalid) {
  const Result<Options> result = parse("backend:cudaMallocAsync");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unsupported);
  const Result<Options> bad = parse("backend:1");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::invalid);
}

TEST(Options, SwitchesAreRead) {
  const Options on = parsed(
      "expandable_segments:True,throw_on_cudamalloc_oom:True,release_lock_on_cudamalloc:True,"
      "graph_capture_record_stream_reuse:True,close_holes:True,garbage_collection_threshold:0.8");
  EXPECT_TRUE(on.expandable_segments && on.throw_on_cudamalloc_oom && on.release_lock_on_cudamalloc &&
              on.graph_capture_record_stream_reuse && on.close_holes);
  EXPECT_EQ(on.garbage_collection_threshold, 0.8);
  EXPECT_EQ(parsed("garbage_collection_threshold:off").garbage_collection_threshold, 0.0);
}

TEST(Options, OfTheReclaimingKeysOnlyTheThresholdResetsAtRunTime) {
  const Options base = parsed("expandable_segments:True,close_holes:True,garbage_collection_threshold:0.8");
  const Result<Options> next = reconfigure("tie_break:segment", base, Origin::api);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->expandable_segments && next->close_holes);
  EXPECT_EQ(next->garbage_collection_threshold, 0.0);
}

TEST(Options, RefusedRowsAcceptTheirDefault) {
  for (const OptionInfo& row : option_table()) {
    if (row.support != Support::refused) continue;
    EXPECT_EQ(error_of(std::string(row.key) + ":" + row.show(Options{})), "accepted") << row.key;
  }
}

TEST(OptionTable, KeysAreUniqueAndDescribed) {
  for (std::size_t i = 0; i < option_table().size(); ++i) {
    const OptionInfo& row = option_table()[i];
    EXPECT_EQ(index_of(row.key), i) << row.key;
    EXPECT_FALSE(row.unit.empty() || row.limits.empty() || row.summary.empty()) << row.key;
  }
}

TEST(OptionTable, EveryDefaultRoundTrips) {
  for (const OptionInfo& row : option_table()) {
    Options into;
    const Status status = row.parse(row.show(Options{}), into);
    EXPECT_TRUE(status) << row.key << ": " << status.error().message;
    EXPECT_EQ(into, Options{}) << row.key;
  }
}

TEST(OptionTable, OtherValuesRoundTrip) {
  const Options some = parsed(
      "tie_break:address,memory_limit_mb:123,large_segment_size_mb:11,max_split_size_mb:20,max_non_split_rounding_mb:"
      "21,"
      "roundup_power2_divisions:[64:8,256:4,>:1],per_process_memory_fraction:0.1,pinned_use_cuda_host_register:True,"
      "pinned_num_register_threads:128,pinned_use_background_threads:True,pinned_free_catch_all:True,"
      "pinned_reserve_segment_size_mb:1,pinned_max_round_threshold_mb:17592186044415,pinned_max_cached_size_mb:0");
  Options back;
  for (const OptionInfo& row : option_table()) EXPECT_TRUE(row.parse(row.show(some), back)) << row.key;
  back.origins = some.origins;
  EXPECT_EQ(back, some);
}

TEST(Reconfigure, AbsentKeysOfTheResettingRowsFallBack) {
  const Options base = parsed(
      "max_split_size_mb:32,max_non_split_rounding_mb:30,roundup_power2_divisions:4,large_segment_size_mb:40,"
      "per_process_memory_fraction:0.5,pinned_max_cached_size_mb:32");
  const Result<Options> next = reconfigure("", base, Origin::api);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->max_split_size, kUnlimited);
  EXPECT_EQ(next->max_non_split_rounding, kUnlimited);
  EXPECT_EQ(next->roundup_power2_divisions, RoundupDivisions{});
  EXPECT_EQ(next->origins[index_of("max_split_size_mb")], Origin::default_value);
  EXPECT_EQ(next->large_segment_size, 40_MiB);
  EXPECT_EQ(next->effective_max_non_split_rounding(), 40_MiB);
  EXPECT_EQ(next->per_process_memory_fraction, 0.5);
  EXPECT_EQ(next->pinned_max_cached_size, 32_MiB);
  EXPECT_EQ(next->origins[index_of("large_segment_size_mb")], Origin::api);
}

TEST(Reconfigure, NamedKeysCount) {
  const Options base = parsed("max_split_size_mb:32,roundup_power2_divisions:4");
  const Result<Options> next = reconfigure("max_split_size_mb:64", base, Origin::api);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->max_split_size, 64_MiB);
  EXPECT_EQ(next->roundup_power2_divisions, RoundupDivisions{});
}

TEST(Reconfigure, ABadStringIsAnErrorWithoutEffect) {
  const Options base = parsed("max_split_size_mb:32");
  EXPECT_FALSE(reconfigure("max_split_size_mb:2", base, Origin::api));
  EXPECT_EQ(base, parsed("max_split_size_mb:32"));
}

class Environment : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("QUARRY_CONF"); }
};

TEST_F(Environment, UnsetGivesTheBase) {
  unsetenv("QUARRY_CONF");
  const Result<Options> options = options_from_environment(parsed("max_split_size_mb:32"));
  ASSERT_TRUE(options);
  EXPECT_EQ(*options, parsed("max_split_size_mb:32"));
}

TEST_F(Environment, SetIsAppliedOnTopOfTheBase) {
  setenv("QUARRY_CONF", "tie_break:address", 1);
  const Result<Options> options = options_from_environment(parsed("max_split_size_mb:32"));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->tie_break, TieBreak::address);
  EXPECT_EQ(options->max_split_size, 32_MiB);
  EXPECT_EQ(options->origins[index_of("tie_break")], Origin::environment);
}

TEST_F(Environment, ErrorsNameTheVariable) {
  setenv("QUARRY_CONF", "tie_brake:address", 1);
  const Result<Options> options = options_from_environment({});
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().message, HasSubstr("QUARRY_CONF: unknown option 'tie_brake'"));
}

}  // namespace
}  // namespace quarry
