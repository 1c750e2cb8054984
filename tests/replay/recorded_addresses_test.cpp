#include "tools/replay/recorded_addresses.h"

#include <gtest/gtest.h>

#include "replay/hand_made.h"

namespace quarry::tools {
namespace {

constexpr Bytes kTwo{2 * kMiB};
constexpr Bytes kTwenty{20 * kMiB};
constexpr Address kFirst{0x10'0000'0000};
constexpr Address kSecond{0x20'0000'0000};
constexpr StreamId kSide{1};

bool is_foreign(Address address) { return address.value >= 1ull << 62; }

TEST(RecordedAddresses, the_start_comes_first_in_order) {
  std::vector<SegmentView> start(2);
  start[0].address = kSecond;
  start[1].address = kFirst;
  RecordedAddresses script(start, {});
  EXPECT_EQ(script.next(kTwo), kSecond);
  EXPECT_EQ(script.next(kTwenty), kFirst);
  EXPECT_TRUE(is_foreign(script.next(kTwo)));
}

TEST(RecordedAddresses, a_grow_gets_the_next_of_its_size_and_stream) {
  const std::vector<GrownSegment> grown = {
      {kFirst, kTwo, kSide}, {kSecond, kTwo, kDefaultStream}, {Address{0x30'0000'0000}, kTwenty, kDefaultStream}};
  RecordedAddresses script({}, grown);
  EXPECT_EQ(script.next(kTwo), kSecond);
  EXPECT_EQ(script.next(kTwenty), Address{0x30'0000'0000});
  EXPECT_EQ(script.foreign(), 0u);
  EXPECT_TRUE(is_foreign(script.next(kTwo)));
  EXPECT_EQ(script.foreign(), 1u);
  script.use_stream(kSide);
  EXPECT_EQ(script.next(kTwo), kFirst);
}

TEST(RecordedAddresses, foreign_segments_do_not_overlap) {
  RecordedAddresses script({}, {});
  const Address one = script.next(kTwenty);
  const Address two = script.next(kTwo);
  EXPECT_GE(two - one, kTwenty);
}

TEST(RecordedAddresses, a_range_in_use_is_not_given_twice) {
  const std::vector<GrownSegment> grown = {{kFirst, kTwo, kDefaultStream},
                                           {kFirst + Bytes{kMiB}, kTwo, kDefaultStream}};
  RecordedAddresses script({}, grown);
  EXPECT_EQ(script.next(kTwo), kFirst);
  EXPECT_TRUE(is_foreign(script.next(kTwo)));
}

TEST(RecordedAddresses, a_released_address_may_come_again) {
  const std::vector<GrownSegment> grown = {{kFirst, kTwo, kDefaultStream}, {kFirst, kTwo, kDefaultStream}};
  RecordedAddresses script({}, grown);
  EXPECT_EQ(script.next(kTwo), kFirst);
  script.released(kFirst);
  EXPECT_EQ(script.next(kTwo), kFirst);
}

TEST(RecordedAddresses, a_withdrawn_address_is_passed_over) {
  const std::vector<GrownSegment> grown = {{kFirst, kTwo, kDefaultStream}, {kSecond, kTwo, kDefaultStream}};
  RecordedAddresses script({}, grown);
  script.withdraw(grown[0]);
  script.withdraw({Address{0x99}, kTwo, kSide});  // unknown: nothing happens
  EXPECT_EQ(script.next(kTwo), kSecond);
}

}  // namespace
}  // namespace quarry::tools
