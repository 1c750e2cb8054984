#include "tools/cases/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quarry::tools {
namespace {

using testing::HasSubstr;

std::string rule(std::string_view text) {
  const auto operation = parse_operation(text);
  return operation ? "accepted" : operation.error().message;
}

TEST(CaseSize, BytesAndUnits) {
  struct Row {
    std::string_view text;
    std::uint64_t bytes;
  };
  for (const Row& row : {Row{"0", 0},
                         {"18446744073709551615", UINT64_MAX},
                         {"3KiB", 3072},
                         {"20MiB", 20u << 20},
                         {"26.5GiB", 28454158336},
                         {"30.375GiB", 32614907904},
                         {"0.5KiB", 512},
                         {"17179869183GiB", 17179869183ull << 30}}) {
    const auto size = parse_size(row.text);
    ASSERT_TRUE(size) << row.text;
    EXPECT_EQ(size->count, row.bytes) << row.text;
  }
}

TEST(CaseSize, RefusesWhatIsNoWholeNumberOfBytes) {
  for (const std::string_view text :
       {"", "x", "-1", "+1", "1.5", "1.", "1.MiB", "MiB", ".5MiB", "0.0001KiB", "1MB", "1 MiB", "18446744073709551616",
        "17179869184GiB", "1e3", "0x10", "1.0000000001GiB"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, ErrorCode::invalid);
    EXPECT_THAT(size.error().message, HasSubstr("is not a size"));
  }
}

TEST(CaseOperation, EveryOperationIsRead) {
  for (const std::string_view text : {"alloc a 512",
                                      "alloc a 512 3",
                                      "allocate a 1GiB",
                                      "free a",
                                      "view v a",
                                      "record a 1",
                                      "hold 1",
                                      "complete 1",
                                      "unhold 1",
                                      "sync 0",
                                      "empty_cache",
                                      "empty_pool 5",
                                      "reset_peak",
                                      "reset_accumulated",
                                      "set_fraction 0.5",
                                      "get_fraction",
                                      "settings -",
                                      "settings max_split_size_mb:20, x:y",
                                      "pool_create 5",
                                      "pool_begin 5",
                                      "pool_end 5",
                                      "pool_release 5",
                                      "pool_use_count 5",
                                      "pool_use_on_oom 5",
                                      "pool_no_split 5",
                                      "capture_begin 1",
                                      "capture_end 1",
                                      "capture_join 2",
                                      "capture_leave 2",
                                      "current 1",
                                      "checkpoint k 5",
                                      "restore k",
                                      "cap 1GiB",
                                      "context 5MiB",
                                      "fail cudaMalloc 1",
                                      "fail cuMemMap 2",
                                      "largest",
                                      "base a",
                                      "check",
                                      "halloc a 5",
                                      "hfree a",
                                      "use a 1",
                                      "empty",
                                      "expect ok",
                                      "expect oom reserved=5",
                                      "expect@pytorch oom",
                                      "expect@paged ok pending=0"}) {
    EXPECT_EQ(rule(text), "accepted") << text;
  }
}

TEST(CaseOperation, ArgumentsGoToTheirFields) {
  const auto alloc = parse_operation("  alloc  b12 \t 2MiB 7 ");
  ASSERT_TRUE(alloc);
  const auto& a = std::get<op::Alloc>(*alloc);
  EXPECT_EQ(a.id, "b12");
  EXPECT_EQ(a.size.count, 2u << 20);
  EXPECT_EQ(a.stream, 7u);

  const auto settings = parse_operation("settings a:1, b:[1:2,>:3]");
  ASSERT_TRUE(settings);
  EXPECT_EQ(std::get<op::Settings>(*settings).text, "a:1, b:[1:2,>:3]");
  const auto none = parse_operation("settings -");
  ASSERT_TRUE(none);
  EXPECT_EQ(std::get<op::Settings>(*none).text, "");

  const auto view = parse_operation("view small data");
  ASSERT_TRUE(view);
  EXPECT_EQ(std::get<op::View>(*view).id, "small");
  EXPECT_EQ(std::get<op::View>(*view).of, "data");

  const auto expect = parse_operation("expect@paged oom reserved=2MiB retries=1");
  ASSERT_TRUE(expect);
  const auto& e = std::get<op::Expect>(*expect);
  EXPECT_EQ(e.policy, op::ExpectPolicy::paged);
  EXPECT_EQ(e.ok, false);
  EXPECT_THAT(e.values, testing::ElementsAre(std::pair(op::ExpectKey::reserved, 2u << 20),
                                             std::pair(op::ExpectKey::retries, 1u)));
}

TEST(CaseOperation, BrokenRulesAreNamed) {
  struct Row {
    std::string_view text;
    std::string_view rule;
  };
  for (const Row& row : {Row{"", "no operation"},
                         {"allok a 5", "'allok' is not an operation"},
                         {"alloc a", "alloc takes 2 or 3 arguments, not 1"},
                         {"free", "free takes 1 argument, not 0"},
                         {"check 1", "check takes 0 arguments, not 1"},
                         {"alloc a -5", "'-5' is not a size"},
                         {"alloc a 5 -1", "'-1' is not a stream"},
                         {"hold 4294967296", "is not a stream"},
                         {"set_fraction half", "'half' is not a number"},
                         {"fail malloc 1", "'malloc' is not a driver call"},
                         {"fail cudaMalloc 0", "the next call is number 1"},
                         {"settings", "settings needs a string"},
                         {"expect", "expect needs"},
                         {"expect maybe", "'maybe' is not ok, oom or one of"},
                         {"expect reserved", "is not ok, oom or one of"},
                         {"expect ok oom", "more than one"},
                         {"expect reserved=x", "is not a size"},
                         {"expect@mine ok", "'@mine' is not"},
                         {"alloc \x01\xff 5x", "'5x' is not a size"},
                         {"\x01\n\xff", "'?' is not an operation"}}) {
    EXPECT_THAT(rule(row.text), HasSubstr(row.rule)) << row.text;
  }
}

}  // namespace
}  // namespace quarry::tools
