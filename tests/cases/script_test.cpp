#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const Case& one) {
  std::vector<std::string> out;
  for (const Step& step : one.steps) out.push_back(step.text);
  return out;
}

TEST(CaseScript, TopOfTheFile) {
  const Case one = script("# a comment\n\n  cap 2GiB\nconfig max_split_size_mb:200  # why\nalloc a 5\r\n");
  EXPECT_EQ(one.name, "script");
  EXPECT_EQ(one.file, "script");
  EXPECT_EQ(one.capacity.count, 2ull << 30);
  EXPECT_EQ(one.config, "max_split_size_mb:200");
  EXPECT_THAT(texts(one), ElementsAre("alloc a 5"));
  EXPECT_EQ(one.steps[0].line, 5u);
  EXPECT_EQ(script("check").capacity, kUnlimited);
  EXPECT_EQ(script("config -\ncheck").config, "");
}

TEST(CaseScript, ALaterCapIsAnOperation) {
  const Case one = script("cap 2GiB\nalloc a 5\ncap 1GiB");
  EXPECT_EQ(one.capacity.count, 2ull << 30);
  EXPECT_THAT(texts(one), ElementsAre("alloc a 5", "cap 1GiB"));
}

TEST(CaseScript, LoopsAreInclusive) {
  EXPECT_THAT(texts(script("for i in 1..3: alloc b{i} {2*i}KiB ; free b{i}")),
              ElementsAre("alloc b1 2KiB", "free b1", "alloc b2 4KiB", "free b2", "alloc b3 6KiB", "free b3"));
  EXPECT_THAT(texts(script("for i in 2..2: alloc b{i} 1")), ElementsAre("alloc b2 1"));
  EXPECT_THAT(texts(script("for i in -1..0: alloc b{i+1} 1")), ElementsAre("alloc b0 1", "alloc b1 1"));
}

TEST(CaseScript, LoopsInLoops) {
  EXPECT_THAT(texts(script("for i in 0..1: check ; for j in {i}..1: alloc b{i}{j} {i * 10 + j}")),
              ElementsAre("check", "alloc b00 0", "alloc b01 1", "check", "alloc b11 11"));
}

TEST(CaseScript, ErrorsNameTheLine) {
  struct Row {
    std::string text;
    std::string_view message;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"", "script.ops: line 1: a case needs at least one operation"},
           {"check\n\nallok a 5\n", "script.ops: line 3: 'allok' is not an operation"},
           {"check\nconfig a:1", "script.ops: line 2: config must stand before the first operation"},
           {"config", "line 1: config needs a string"},
           {"for i in 0..3: alloc a{k} 5", "line 1: 'k' is neither a 64-bit number nor a loop variable"},
           {"alloc a{i} 5", "line 1: 'i' is neither"},
           {"for i in 0..2 alloc a 5", "a loop is written"},
           {"for i on 0..2: check", "a loop is written"},
           {"for i..2 in 3: check", "is not a name of a loop variable"},
           {"for i in in 0..2: check", "neither a 64-bit number nor a loop variable"},
           {"for i: check", "a loop is written"},
           {"for 1 in 0..2: check", "'1' is not a name of a loop variable"},
           {"for i in 0.2: check", "a loop is written"},
           {"for i in 2..1: check", "the first value of a loop is above the last"},
           {"for i in 0..2:", "no operation"},
           {"for i in 0..2: check ;", "no operation"},
           {"for i in 0..x: check", "'x' is neither"},
           {"check ; check", "check takes 0 arguments"},
           {"expect ok", "there is none before this line"},
           {"alloc a 5\nexpect ok device_free=5", "script.ops: line 2: device_free needs a cap"}}) {
    EXPECT_THAT(script_error(row.text), HasSubstr(row.message)) << row.text;
  }
}

// None may crash, hang or eat memory: each is refused, in one line, whatever it asks for.
TEST(CaseScript, HostileScripts) {
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "for i in 0..9: ";
  std::string zeros;
  for (int i = 0; i < 3000; ++i) zeros += "+0";
  for (const std::string& text : std::initializer_list<std::string>{
           "for i in 0..1000000000: alloc a{i} 1", "for i in 0..1000000000: cap 1GiB",
           "for i in 0..9223372036854775807: check", "for i in 0..1000000: for j in 0..1000000: check",
           "for i in 0..1000000000: for j in 1..0: check", nested + "check",
           "for i in 0..199000: alloc a{i" + zeros + "} 1",
           "for i in 0..199000: alloc " + std::string(5000, 'a') + " 1", "alloc a {" + std::string(1 << 20, '(') + "}",
           std::string(1 << 20, 'x'), std::string(1 << 16, '\0'), "alloc a 1\n\xff\xfe\x00\x01"}) {
    const std::string message = script_error(text);
    EXPECT_THAT(message, HasSubstr("script.ops: line ")) << text.substr(0, 60);
    EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
    EXPECT_LT(message.size(), 300u);
  }
}

TEST(CaseScript, TheLargestLoopIsRead) { EXPECT_EQ(script("for i in 1..100000: check").steps.size(), 100000u); }

}  // namespace
}  // namespace quarry::tools
