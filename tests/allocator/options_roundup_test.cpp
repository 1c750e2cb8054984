// roundup_power2_divisions: which interval gets how many divisions. The lists are those of the conformance corpus
// (rounding.json), the expectations follow from the block sizes recorded there.
#include <gtest/gtest.h>

#include <quarry/allocator/options.h>

namespace quarry {
namespace {

RoundupDivisions divisions(std::string_view value) {
  const std::string text = "roundup_power2_divisions:" + std::string(value);
  const Result<Options> options = parse_options(text, Options{}, Origin::api);
  EXPECT_TRUE(options) << value << ": " << options.error().message;
  return options ? options->roundup_power2_divisions : RoundupDivisions{};
}

bool refused(std::string_view value) {
  const std::string text = "roundup_power2_divisions:" + std::string(value);
  return !parse_options(text, Options{}, Origin::api);
}

RoundupDivisions all(std::uint32_t n) {
  RoundupDivisions same;
  same.fill(n);
  return same;
}

TEST(Roundup, OneNumberIsForAllIntervals) {
  EXPECT_EQ(divisions("1"), all(1));
  EXPECT_EQ(divisions("16"), all(16));
}

TEST(Roundup, FirstKeyFillsAllBelowItAndGapsStayPlain) {
  EXPECT_EQ(divisions("[64:8,256:4,1024:4,>:1]"), (RoundupDivisions{8, 8, 8, 8, 8, 8, 8, 0, 4, 0, 4, 1, 1, 1, 1, 1}));
  EXPECT_EQ(divisions("[256:1,512:2,1024:4,>:8]"), (RoundupDivisions{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}));
  EXPECT_EQ(divisions("[64:0,256:4,>:8]"), (RoundupDivisions{0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 8, 8, 8, 8, 8, 8}));
}

TEST(Roundup, WithoutTheRestMarkIntervalsAboveStayPlain) {
  EXPECT_EQ(divisions("[1:4,2:2,64:8]"), (RoundupDivisions{4, 2, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Roundup, RestMarkAloneLeavesTheFirstIntervalPlain) {
  EXPECT_EQ(divisions("[>:4]"), (RoundupDivisions{0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}));
}

TEST(Roundup, KeysAboveTheLastIntervalMeanTheLast) {
  EXPECT_EQ(divisions("[1:0,65536:4]"), (RoundupDivisions{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}));
  EXPECT_EQ(divisions("[9223372036854775808:2]"), all(2));
  EXPECT_EQ(divisions("[32768:2,>:8]"), all(2));
}

TEST(Roundup, WhiteSpaceInsideTheListIsIgnored) { EXPECT_EQ(divisions("[ 64 : 8 , > : 1 ]"), divisions("[64:8,>:1]")); }

TEST(Roundup, AListDoesNotKeepWhatWasThere) {
  const Result<Options> base = parse_options("roundup_power2_divisions:8", Options{}, Origin::api);
  ASSERT_TRUE(base);
  const Result<Options> next = parse_options("roundup_power2_divisions:[>:2]", *base, Origin::api);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->roundup_power2_divisions[0], 0u);
}

TEST(Roundup, JunkIsRefused) {
  for (const std::string_view value : {"[]",
                                       "[ ]",
                                       "[64:8",
                                       "64:8]",
                                       "[64:8]]",
                                       "[[64:8]]",
                                       "[64:8,]",
                                       "[,64:8]",
                                       "[64]",
                                       "[64:]",
                                       "[:8]",
                                       "[64:8;>:1]",
                                       "[64:8,256]",
                                       "[0:4]",
                                       "[64:8x]",
                                       "[64x:8]",
                                       "[64:8]x",
                                       "-2",
                                       "0",
                                       "6",
                                       "4294967296",
                                       "[64:4294967296]",
                                       "[-64:8]",
                                       "[>:3]",
                                       "[>]",
                                       "[64:8:2]",
                                       "[18446744073709551616:2]"}) {
    EXPECT_TRUE(refused(value)) << value;
  }
}

TEST(Roundup, ShowReadsBack) {
  for (const std::string_view value : {"1", "8", "[64:8,256:4,>:1]", "[>:4]", "[1:4,2:2,64:8]", "[64:0,256:4,>:8]",
                                       "[1:0]", "[32768:4]", "[1:2,>:4]"}) {
    Options options;
    options.roundup_power2_divisions = divisions(value);
    for (const OptionInfo& row : option_table()) {
      if (row.key != "roundup_power2_divisions") continue;
      EXPECT_EQ(divisions(row.show(options)), divisions(value)) << value;
    }
  }
}

}  // namespace
}  // namespace quarry
