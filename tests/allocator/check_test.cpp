#include <quarry/allocator/check.h>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace quarry {
namespace {

void throw_message(const CheckFailure& failure) {
  throw std::runtime_error(std::string(failure.condition) + "|" + failure.message);
}

void return_anyway(const CheckFailure&) {}

// Puts the handler that was in force back, whatever the test does.
class ScopedHandler {
 public:
  explicit ScopedHandler(CheckHandler handler) : before_(set_check_handler(handler)) {}
  ~ScopedHandler() { set_check_handler(before_); }
  ScopedHandler(const ScopedHandler&) = delete;
  ScopedHandler& operator=(const ScopedHandler&) = delete;

 private:
  CheckHandler before_;
};

TEST(Check, HoldsWithoutCallingTheHandler) {
  const ScopedHandler handler(throw_message);
  EXPECT_NO_THROW(QUARRY_CHECK(1 + 1 == 2, "sums add up"));
}

TEST(Check, EvaluatesItsConditionOnce) {
  int calls = 0;
  QUARRY_CHECK(++calls == 1, "counted once");
  EXPECT_EQ(calls, 1);
}

TEST(Check, HandsConditionAndMessageToTheHandler) {
  const ScopedHandler handler(throw_message);
  try {
    QUARRY_CHECK(1 == 2, "one is two");
    FAIL() << "the check let a false condition pass";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1 == 2|one is two");
  }
}

TEST(Check, PlaceIsTheCallersLine) {
  static int line_seen = 0;
  const ScopedHandler handler([](const CheckFailure& failure) {
    line_seen = failure.line;
    throw std::runtime_error(failure.file);
  });
  const int line = __LINE__ + 1;
  EXPECT_THROW(QUARRY_CHECK(false, "never"), std::runtime_error);
  EXPECT_EQ(line_seen, line);
}

TEST(Check, SettingAHandlerReturnsTheOneBefore) {
  const ScopedHandler outer(throw_message);
  EXPECT_EQ(set_check_handler(return_anyway), &throw_message);
  EXPECT_EQ(set_check_handler(throw_message), &return_anyway);
}

TEST(CheckDeathTest, DefaultPrintsOneLineAndAborts) {
  const ScopedHandler handler(nullptr);
  EXPECT_DEATH(QUARRY_CHECK(2 < 1, "order is broken"),
               "^quarry: check failed: order is broken \\(2 < 1\\) at .*:[0-9]+\n$");
}

TEST(CheckDeathTest, HandlerThatReturnsEndsInAbort) {
  const ScopedHandler handler(return_anyway);
  EXPECT_DEATH(QUARRY_CHECK(false, "never"), "");
}

TEST(Check, LevelsDecideWhatIsEvaluated) {
  [[maybe_unused]] int evaluated = 0;
  QUARRY_ASSERT(++evaluated > 0, "counts");
  EXPECT_EQ(evaluated, QUARRY_CHECK_LEVEL >= 1 ? 1 : 0);
  QUARRY_EXPENSIVE(evaluated += 10);
  EXPECT_EQ(evaluated >= 10, QUARRY_CHECK_LEVEL >= 2);
}

}  // namespace
}  // namespace quarry
