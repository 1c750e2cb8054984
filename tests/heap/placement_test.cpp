// The placements on small free spaces whose best answer is known. A page is 16 units here.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include <quarry/allocator/heap/placement_fast.h>
#include <quarry/allocator/heap/placement_tight.h>

namespace quarry {
namespace {

constexpr unsigned kShift = 4;
constexpr Units kPage = Units{1} << kShift;
constexpr std::size_t kEnd = 100;  // the first page that is not there, unless a test says otherwise

struct Range {
  Units begin = 0;
  Units end = 0;
};

class Placements : public testing::Test {
 protected:
  Placements() {
    free_.make_room(kEnd * kPage);
    state_.pages = kEnd;
    state_.most_live = 10 * kPage;  // the heap is larger than it need be
    state_.gaps = &gaps_;
  }

  void free(std::vector<Range> ranges) {
    for (const Range& range : ranges) free_.add(range.begin, range.end);
  }
  PageChoice tight(Units size) const { return TightPlacement(kShift).choose(free_, size, state_); }
  PageChoice fast(Units size) const { return FastPlacement(kShift).choose(free_, size, state_); }

  static void expect_home(const PageChoice& choice, Units at, std::size_t grow = 0) {
    EXPECT_EQ(choice.kind, PageChoice::Kind::home);
    EXPECT_EQ(choice.at, at);
    EXPECT_EQ(choice.grow, grow);
  }
  static void expect_stitch(const PageChoice& choice, Units front, std::size_t whole, Units back,
                            std::size_t grow = 0) {
    EXPECT_EQ(choice.kind, PageChoice::Kind::stitch);
    EXPECT_EQ(choice.front, front);
    EXPECT_EQ(choice.whole, whole);
    EXPECT_EQ(choice.back, back);
    EXPECT_EQ(choice.grow, grow);
  }
  static Units begin_of(const Extent* extent) { return extent != nullptr ? extent->begin : ~Units{0}; }

  FreeSpace free_{kShift};
  PageState state_;
  std::map<std::size_t, std::size_t> gaps_{{kEnd, 1000}};
};

// Tight ---------------------------------------------------------------------------------------------------------------

TEST_F(Placements, TightTakesAHoleInsideAPageFirst) {
  free({{2, 7}, {2 * kPage + 10, 3 * kPage}, {5 * kPage, 6 * kPage}});
  expect_home(tight(5), 2);
}

TEST_F(Placements, TightTakesThePartOfAnExtentThatNothingElseCanUse) {
  // Half a page before two whole ones: the half goes, at whichever end it lies.
  free({{3 * kPage + 8, 6 * kPage}});
  expect_home(tight(8), 3 * kPage + 8);
  free_.remove(3 * kPage + 8, 6 * kPage);
  free({{4 * kPage, 6 * kPage + 8}});
  expect_home(tight(8), 6 * kPage);
}

TEST_F(Placements, TightAlignsALargeBlockInsideItsExtent) {
  // Four units before and after three pages. At either end of the extent the block would leave a rest in a page that it
  // shares; from the page's start it leaves both edges.
  free({{3 * kPage - 4, 6 * kPage + 4}});
  const PageChoice choice = tight(3 * kPage);
  expect_home(choice, 3 * kPage);
}

TEST_F(Placements, TightStitchesWithBothEndsPartlyUsed) {
  free({{kPage + 8, 2 * kPage}, {4 * kPage, 5 * kPage}, {7 * kPage, 7 * kPage + 8}});
  const PageChoice choice = tight(2 * kPage);
  expect_stitch(choice, 8, 1, 8);
  EXPECT_EQ(begin_of(choice.front_hole), kPage + 8);
  EXPECT_EQ(begin_of(choice.back_hole), 7 * kPage);
}

TEST_F(Placements, TightPrefersTheHoleThatLeavesNoRest) {
  free({{kPage + 3, 2 * kPage}, {4 * kPage, 5 * kPage}, {7 * kPage, 7 * kPage + 5}, {9 * kPage, 9 * kPage + 12}});
  const PageChoice choice = tight(kPage + 5);
  expect_stitch(choice, 0, 1, 5);
  EXPECT_EQ(begin_of(choice.back_hole), 7 * kPage);
}

TEST_F(Placements, TightStraddlesTwoPagesBelowAPage) {
  // A whole page fits, but two ends that together are just the request are worth less.
  free({{kPage + 10, 2 * kPage}, {4 * kPage, 4 * kPage + 6}, {7 * kPage, 8 * kPage}});
  const PageChoice choice = tight(12);
  expect_stitch(choice, 6, 0, 6);
}

TEST_F(Placements, TightDoesNotStraddleWhereMuchWouldBeStranded) {
  // The ends would leave two units of five: more than a tenth of the request. The whole page is taken instead.
  free({{kPage + 14, 2 * kPage}, {4 * kPage, 4 * kPage + 5}, {7 * kPage, 8 * kPage}});
  const PageChoice choice = tight(5 + 0);
  EXPECT_EQ(choice.kind, PageChoice::Kind::home);
}

TEST_F(Placements, TightGrowsInPlaceWhenAStitchNeedsAsManyPages) {
  free({{99 * kPage + 8, 100 * kPage}});
  expect_home(tight(kPage + 8), 99 * kPage + 8, 1);
}

TEST_F(Placements, TightStitchesInsteadOfGrowingMore) {
  free({{kPage, 2 * kPage}, {4 * kPage, 5 * kPage}});
  expect_stitch(tight(3 * kPage), 0, 3, 0, 1);
  expect_stitch(tight(2 * kPage), 0, 2, 0, 0);
}

// Without the bound a program that churns for ever is given pages for ever.
TEST_F(Placements, TightGrowsToSaveMapsButNotWithoutEnd) {
  free({{kPage, 2 * kPage}, {4 * kPage, 5 * kPage}});
  state_.most_live = kEnd * kPage;
  state_.maps = 2 * 16384 - 1;
  expect_stitch(tight(2 * kPage), 0, 2, 0);
  state_.maps += 1;
  expect_home(tight(2 * kPage), kEnd * kPage, 2);
  state_.most_live = kEnd * kPage * 99 / 100;
  expect_stitch(tight(2 * kPage), 0, 2, 0);
}

TEST_F(Placements, TightNeverStitchesBelowAPageWithoutAFit) {
  free({{kPage + 10, 2 * kPage}, {4 * kPage, 4 * kPage + 6}});
  expect_home(tight(12), kEnd * kPage, 1);
}

TEST_F(Placements, TightLeavesPagesAloneWhileMuchIsFree) {
  // More than half of what is held is free: what fits is good enough.
  free({{0, 60 * kPage}, {70 * kPage + 8, 71 * kPage}, {72 * kPage, 72 * kPage + 8}});
  EXPECT_EQ(tight(12).kind, PageChoice::Kind::home);
}

// Fast ----------------------------------------------------------------------------------------------------------------

TEST_F(Placements, FastTakesAGoodFit) {
  free({{2, 9}, {kPage, kPage + 5}, {5 * kPage, 7 * kPage}});
  expect_home(fast(5), kPage);
  expect_home(fast(6), 3);  // from the high end
  expect_home(fast(20), 7 * kPage - 20);
}

// There the arena grows on, and the next growth should find what is free.
TEST_F(Placements, FastCutsTheEndOfTheArenaFromItsLowEnd) {
  free({{98 * kPage, kEnd * kPage}});
  expect_home(fast(20), 98 * kPage);
}

TEST_F(Placements, FastGrowsInPlaceWhenAStitchNeedsAsManyPages) {
  free({{99 * kPage + 8, 100 * kPage}});
  expect_home(fast(kPage + 8), 99 * kPage + 8, 1);
  expect_home(fast(kPage + 9), 99 * kPage + 8, 2);
}

TEST_F(Placements, FastStitchesWhereThatNeedsFewerPages) {
  free({{kPage, 2 * kPage}, {4 * kPage, 5 * kPage}, {6 * kPage + 9, 7 * kPage}, {8 * kPage, 8 * kPage + 9}});
  const PageChoice front = fast(2 * kPage + 6);
  expect_stitch(front, 6, 2, 0);
  EXPECT_EQ(begin_of(front.front_hole), 6 * kPage + 9);
  const PageChoice back = fast(2 * kPage + 8);
  expect_stitch(back, 0, 2, 8);
  EXPECT_EQ(begin_of(back.back_hole), 8 * kPage);
  const PageChoice fresh = fast(2 * kPage + 10);  // no end is long enough
  expect_stitch(fresh, 0, 2, 10, 1);
  EXPECT_EQ(fresh.back_hole, nullptr);
}

TEST_F(Placements, FastNeverStitchesBelowAPage) {
  free({{kPage + 10, 2 * kPage}, {4 * kPage, 4 * kPage + 6}});
  expect_home(fast(12), kEnd * kPage, 1);
}

// Growth --------------------------------------------------------------------------------------------------------------

TEST_F(Placements, GrowthTakesTheFirstGapWithRoom) {
  gaps_ = {{10, 1}, {20, 3}, {kEnd, 1000}};
  free({{10 * kPage - 4, 10 * kPage}, {20 * kPage - 8, 20 * kPage}});
  const PageChoice one = grow_at_gap(free_, kPage, state_, kShift);
  expect_home(one, 10 * kPage - 4, 1);
  EXPECT_EQ(one.gap, 10u);
  const PageChoice three = grow_at_gap(free_, 3 * kPage, state_, kShift);
  expect_home(three, 20 * kPage - 8, 3);
  EXPECT_EQ(three.gap, 20u);
  const PageChoice many = grow_at_gap(free_, 1000 * kPage, state_, kShift);
  expect_home(many, kEnd * kPage, 1000);
  EXPECT_EQ(grow_at_gap(free_, 1000 * kPage + 1, state_, kShift).kind, PageChoice::Kind::none);
}

TEST_F(Placements, WithoutGapsOnlyWhatIsFreeServes) {
  state_.gaps = nullptr;
  free({{kPage, 2 * kPage}, {4 * kPage, 5 * kPage}});
  for (const bool is_tight : {false, true}) {
    const PageChoice fits = is_tight ? tight(kPage) : fast(kPage);
    EXPECT_EQ(fits.kind, PageChoice::Kind::home);
    const PageChoice misses = is_tight ? tight(kPage + 1) : fast(kPage + 1);
    EXPECT_EQ(misses.kind, PageChoice::Kind::none);
  }
}

// Runs of whole pages -------------------------------------------------------------------------------------------------

TEST_F(Placements, ARunBeginsWithAPage) {
  free({{kPage + 1, 3 * kPage + 15}, {5 * kPage + 8, 8 * kPage + 1}});
  expect_home(choose_run(free_, kPage, state_, kShift), 6 * kPage);  // the smaller extent
  expect_home(choose_run(free_, 2 * kPage, state_, kShift), 6 * kPage);
  expect_home(choose_run(free_, 3 * kPage, state_, kShift), kEnd * kPage, 3);
}

TEST_F(Placements, ARunGrowsFromTheWholePagesBeforeTheGap) {
  free({{97 * kPage + 5, 100 * kPage}});
  expect_home(choose_run(free_, 5 * kPage, state_, kShift), 98 * kPage, 3);
  free_.remove(97 * kPage + 5, 99 * kPage + 1);
  expect_home(choose_run(free_, 2 * kPage, state_, kShift), 100 * kPage, 2);
}

// A page and a half each, and no page of it whole: the search looks at some of them and then at the gap.
TEST_F(Placements, ARunIsFoundBehindManyThatLieBadly) {
  constexpr std::size_t kLast = 400;
  FreeSpace free(kShift);
  free.make_room(kLast * kPage);
  for (Units i = 0; i < 300; i += 3) free.add(i * kPage + 1, (i + 2) * kPage - 8);
  free.add((kLast - 3) * kPage, kLast * kPage);
  gaps_ = {{kLast, 1000}};
  const PageChoice choice = choose_run(free, kPage, state_, kShift);
  expect_home(choice, (kLast - 3) * kPage);
  EXPECT_EQ(begin_of(choice.extent), (kLast - 3) * kPage);
}

}  // namespace
}  // namespace quarry
