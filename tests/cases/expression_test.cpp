#include "tools/cases/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quarry::tools {
namespace {

const Variables kVariables = {{"i", 7}, {"j", -2}, {"i", 3}};  // the inner i hides the outer one

TEST(CaseExpression, Values) {
  struct Row {
    std::string_view text;
    std::int64_t value;
  };
  for (const Row& row : {Row{"0", 0},
                         {"i", 3},
                         {"2*i", 6},
                         {"67108864+512*i", 67110400},
                         {"1+2*3-4", 3},
                         {"(1+2)*(3-4)", -3},
                         {"7/2", 3},
                         {"-7/2", -3},
                         {"7%4", 3},
                         {"8/2/2", 2},
                         {"10-3-2", 5},
                         {" - ( j ) ", 2},
                         {"--i", 3},
                         {"9223372036854775807", INT64_MAX}}) {
    const auto value = evaluate(row.text, kVariables);
    ASSERT_TRUE(value) << row.text << ": " << value.error().message;
    EXPECT_EQ(*value, row.value) << row.text;
  }
}

TEST(CaseExpression, Errors) {
  struct Row {
    std::string text;
    std::string_view rule;
  };
  for (const Row& row : std::initializer_list<Row>{{"", "missing"},
                                                   {"1+", "missing"},
                                                   {"k", "neither a 64-bit number nor a loop variable"},
                                                   {"1 2", "unexpected"},
                                                   {"(1", "')' is missing"},
                                                   {"1)", "unexpected"},
                                                   {"1/0", "division by zero"},
                                                   {"1%(i-3)", "division by zero"},
                                                   {"9223372036854775807+1", "leaves 64 bits"},
                                                   {"9223372036854775808", "neither"},
                                                   {"(-9223372036854775807-1)/-1", "leaves 64 bits"},
                                                   {"4611686018427387904*2", "leaves 64 bits"},
                                                   {std::string(100000, '('), "nested too deeply"},
                                                   {std::string(100000, '-') + "1", "nested too deeply"},
                                                   {"1.5", "unexpected"},
                                                   {"2i", "neither"}}) {
    const auto value = evaluate(row.text, kVariables);
    ASSERT_FALSE(value) << row.text.substr(0, 40);
    EXPECT_THAT(value.error().message, testing::HasSubstr(row.rule)) << row.text.substr(0, 40);
  }
}

TEST(CaseExpression, Substitution) {
  const auto text = substitute("alloc b{2*i} {512*(i+1)} ; free b{i-1}", kVariables);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "alloc b6 2048 ; free b2");
  EXPECT_EQ(*substitute("free a", kVariables), "free a");
  EXPECT_FALSE(substitute("free b{i", kVariables));
  EXPECT_FALSE(substitute("free b{}", kVariables));
}

}  // namespace
}  // namespace quarry::tools
