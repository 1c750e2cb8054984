#include <quarry/stats/summary.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <quarry/allocator/sim/device.h>

#include "support/pytorch.h"

namespace quarry::stats {
namespace {

using testing::HasSubstr;

TEST(FormatBytes, picks_a_unit_and_names_it) {
  EXPECT_EQ(format_bytes({0}), "0 B");
  EXPECT_EQ(format_bytes({1023}), "1,023 B");
  EXPECT_EQ(format_bytes({1024}), "1.00 KiB");
  EXPECT_EQ(format_bytes({3ull << 29}), "1.50 GiB");
  EXPECT_EQ(format_bytes({1ull << 60}), "1024.00 PiB");
  EXPECT_EQ(format_bytes(kUnlimited), "unlimited");
}

TEST(FormatBytes, keeps_to_the_unit_asked_for) {
  const Bytes n{5'000'000'000};
  EXPECT_EQ(format_bytes(n, Units::bytes), "5,000,000,000 B");
  EXPECT_EQ(format_bytes(n, Units::mib), "4768.37 MiB");
  EXPECT_EQ(format_bytes(n, Units::gib), "4.66 GiB");
  EXPECT_EQ(format_bytes(n, Units::mb), "5000.00 MB");
  EXPECT_EQ(format_bytes(n, Units::gb), "5.00 GB");
}

TEST(FormatCount, separates_thousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(28291), "28,291");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
}

// Text between the title of a row and the end of its line.
std::string row(const std::string& text, const std::string& title) {
  const std::size_t at = text.find(title);
  if (at == std::string::npos) return "no row " + title;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(Summary, shows_the_counters_and_a_ledger_that_adds_up) {
  sim::DeviceOptions device;
  device.capacity = {1ull << 30};
  Result<Allocator> gpu = sim::open(device, pytorch_options());
  ASSERT_TRUE(gpu);
  Result<Allocation> small = gpu->allocate(1000);
  Result<Allocation> large = gpu->allocate(3 << 20);
  ASSERT_TRUE(small && large);
  { ASSERT_TRUE(gpu->allocate(64 << 20)); }
  const SpaceStats stats = gpu->stats();
  const std::string text = summary(stats, Units::bytes);
  const Ledger& l = stats.ledger;

  // small: 1,000 B in 1,024 B of a 2 MiB segment; large: 3 MiB of a 20 MiB one; 64 MiB wholly free.
  EXPECT_THAT(row(text, "Allocated memory"), HasSubstr(format_bytes(l.allocated, Units::bytes)));
  EXPECT_THAT(row(text, "Reserved memory"), HasSubstr("90,177,536 B"));
  EXPECT_THAT(row(text, "Allocations"), HasSubstr("2"));
  EXPECT_THAT(row(text, "= reserved"), HasSubstr("90,177,536 B"));
  EXPECT_THAT(row(text, "  requested"), HasSubstr("3,146,728 B"));
  EXPECT_THAT(row(text, "+ rounding"), HasSubstr(" 24 B"));
  EXPECT_THAT(row(text, "+ releasable"), HasSubstr("67,108,864 B"));
  EXPECT_THAT(row(text, "+ stranded"), HasSubstr("19,921,920 B"));
  EXPECT_THAT(row(text, "= device total"), HasSubstr("1,073,741,824 B"));
  EXPECT_THAT(row(text, "F = peak reserved / peak requested"),
              HasSubstr(std::to_string(l.fragmentation()).substr(0, 4)));
  EXPECT_THAT(row(text, "1 - largest free / free bytes, now"), HasSubstr("0.2"));
  EXPECT_EQ(l.requested + l.rounding() + l.pending + l.releasable + l.stranded, l.reserved);
}

TEST(Summary, shows_streams_where_there_are_several) {
  Result<Allocator> gpu = sim::open({}, pytorch_options());
  ASSERT_TRUE(gpu);
  const Result<Allocation> one = gpu->allocate(3 << 20);
  EXPECT_EQ(summary(gpu->stats()).find("By stream"), std::string::npos);
  const Result<Allocation> other = gpu->allocate(4 << 20, gpu->stream(reinterpret_cast<void*>(16)));
  ASSERT_TRUE(one && other);
  const std::string text = summary(gpu->stats(), Units::bytes);
  EXPECT_THAT(row(text, "stream 0"), HasSubstr("3,145,728 B active, 17,825,792 B cached"));
  EXPECT_THAT(row(text, "stream 1"), HasSubstr("4,194,304 B active, 16,777,216 B cached"));
}

TEST(Summary, leaves_out_what_the_driver_does_not_say) {
  SpaceStats stats;
  stats.device = "silent";
  stats.ledger.limit = kUnlimited;
  const std::string text = summary(stats);
  EXPECT_THAT(text, HasSubstr("Memory of silent"));
  EXPECT_THAT(text, testing::Not(HasSubstr("device total")));
  EXPECT_THAT(text, testing::Not(HasSubstr("limit on reserved")));
}

}  // namespace
}  // namespace quarry::stats
