// PageWorth against the formulas of the rule (reference/fragmentation.md section 4), in parts of a page.
#include <gtest/gtest.h>

#include <cmath>

#include <quarry/allocator/heap/placement_tight.h>

namespace quarry {
namespace {

class PageWorths : public testing::TestWithParam<unsigned> {
 protected:
  unsigned shift_ = GetParam();
  Units page_ = Units{1} << shift_;
  PageWorth worth_{shift_};

  double part(Units length) const { return static_cast<double>(length) / static_cast<double>(page_); }
  double edge(Units length) const { return 0.95 * std::pow(part(length), 1.1); }
  double middle(Units length) const { return 0.5 * part(length) * part(length); }
  // Walks the pages of the range, one by one.
  double value(Units begin, Units end) const {
    double sum = 0;
    for (Units at = begin; at < end;) {
      const Units page_end = (at / page_ + 1) * page_;
      const Units to = std::min(end, page_end);
      const bool from_start = at % page_ == 0;
      const bool to_end = to == page_end;
      if (from_start && to_end) {
        sum += 1;
      } else {
        sum += from_start || to_end ? edge(to - at) : middle(to - at);
      }
      at = to;
    }
    return sum;
  }
};

INSTANTIATE_TEST_SUITE_P(PageShifts, PageWorths, testing::Values(3, 7, 12));

TEST_P(PageWorths, AnEndOfAPageIsWorthMoreThanAHole) {
  for (Units length = 0; length < page_; length += 1 + page_ / 64) {
    EXPECT_DOUBLE_EQ(worth_.edge(length), edge(length));
    EXPECT_DOUBLE_EQ(worth_.middle(length), middle(length));
  }
  EXPECT_EQ(worth_.edge(0), 0);
  EXPECT_EQ(worth_.middle(0), 0);
}

TEST_P(PageWorths, ARangeIsWorthTheSumOverItsPages) {
  const Units step = 1 + page_ / 16;
  for (Units begin = 0; begin <= 2 * page_; begin += step) {
    for (Units end = begin; end <= 5 * page_; end += step) {
      EXPECT_NEAR(worth_.of(begin, end), value(begin, end), 1e-12) << begin << ".." << end;
    }
    const Units border = (begin / page_ + 1) * page_;
    EXPECT_NEAR(worth_.of(begin, border), value(begin, border), 1e-12);
    EXPECT_NEAR(worth_.of(begin, border + page_), value(begin, border + page_), 1e-12);
  }
}

}  // namespace
}  // namespace quarry
