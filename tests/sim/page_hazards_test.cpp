// The hazard checker and pages: bytes with several addresses, and their unmapping.
#include <gtest/gtest.h>

#include <vector>

#include "sim/hazard_fixture.h"

namespace quarry::sim {
namespace {

class PageHazards : public HazardChecker {
 protected:
  PageHazards() {
    EXPECT_TRUE(device_.map(range_, 2_MiB, &page_, 1));
    EXPECT_TRUE(device_.map(alias_, 2_MiB, &page_, 1));
  }

  Address range_ = device_.reserve(8_MiB).value;
  Address alias_ = range_ + 4_MiB;
  PageHandle page_ = device_.create_page(2_MiB, {}).value;
};

TEST_P(PageHazards, AliasesAreTheSameBytes) {
  writes(one_, {range_ + 512_B, 512_B});
  writes(two_, {alias_, 512_B});
  EXPECT_EQ(found(), 0u);
  writes(two_, {alias_ + 1023_B, 1_B});
  EXPECT_EQ(found(), 1u);
  edge(two_, three_);
  writes(three_, {range_, 512_B});
  EXPECT_EQ(found(), 0u);
}

TEST_P(PageHazards, UnmappingUnderWorkTheHostHasNotSeenIsAHazard) {
  const std::uint64_t last = writes(one_, {range_, 512_B});
  EXPECT_TRUE(device_.unmap(range_, 2_MiB));
  const std::vector<Hazard> hazards = device_.take_hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0],
            (Hazard{HazardKind::unmap, {identity(one_), last, {range_, 512_B}, true}, {0, 0, {range_, 2_MiB}, true}}));
  reads(one_, {range_, 512_B});
  EXPECT_EQ(device_.take_hazards().at(0).kind, HazardKind::stray);
}

TEST_P(PageHazards, UnmappingAfterTheHostSawTheEndIsNone) {
  writes(one_, {range_, 512_B});
  EXPECT_TRUE(device_.synchronize_stream(one_));
  EXPECT_TRUE(device_.unmap(range_, 2_MiB));
  EXPECT_EQ(found(), 0u);
}

TEST_P(PageHazards, OnlyTheMappingThatWasUsedMustStay) {
  writes(one_, {range_, 512_B});
  EXPECT_TRUE(device_.unmap(alias_, 2_MiB));
  EXPECT_EQ(found(), 0u);
  EXPECT_TRUE(device_.unmap(range_, 2_MiB));
  EXPECT_EQ(found(), 1u);
}

TEST_P(PageHazards, ALaterUseThroughAnAliasDoesNotHideTheFirst) {
  writes(one_, {range_, 512_B});
  writes(one_, {alias_, 512_B});
  EXPECT_TRUE(device_.unmap(range_, 2_MiB));
  EXPECT_EQ(found(), 1u);
}

TEST_P(PageHazards, BytesKeepTheirPastWhenTheyMove) {
  writes(one_, {range_, 512_B});
  EXPECT_TRUE(device_.unmap(range_, 2_MiB));
  EXPECT_EQ(found(), 1u);
  EXPECT_TRUE(device_.map(range_ + 2_MiB, 2_MiB, &page_, 1));
  writes(two_, {range_ + 2_MiB, 512_B});
  EXPECT_EQ(found(), 1u) << "the same bytes at another address";
}

TEST_P(PageHazards, ANewPageAtAnOldAddressStartsAfresh) {
  writes(one_, {range_, 512_B});
  EXPECT_TRUE(device_.synchronize_stream(one_));
  EXPECT_TRUE(device_.unmap(range_, 2_MiB));
  EXPECT_TRUE(device_.unmap(alias_, 2_MiB));
  EXPECT_TRUE(device_.destroy_page(page_));
  const PageHandle next = device_.create_page(2_MiB, {}).value;
  EXPECT_TRUE(device_.map(range_, 2_MiB, &next, 1));
  writes(two_, {range_, 512_B});
  EXPECT_EQ(found(), 0u);
}

TEST_P(PageHazards, AUseMaySpanPages) {
  const PageHandle second = device_.create_page(2_MiB, {}).value;
  EXPECT_TRUE(device_.map(range_ + 2_MiB, 2_MiB, &second, 1));
  writes(one_, {range_ + 1_MiB, 2_MiB});
  writes(two_, {alias_ + 1_MiB, 512_B});
  EXPECT_EQ(found(), 1u);
  writes(two_, {range_ + 2_MiB, 1_MiB});
  EXPECT_EQ(found(), 1u);
  EXPECT_TRUE(device_.unmap(range_, 4_MiB));
  EXPECT_EQ(found(), 2u) << "one for each stream, however many pages";
}

INSTANTIATE_TEST_SUITE_P(Paces, PageHazards, kPaces, pace_name);

}  // namespace
}  // namespace quarry::sim
