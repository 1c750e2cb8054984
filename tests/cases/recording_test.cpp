#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CaseRecording, AnAnswerIsReadWhole) {
  const auto cases =
      parse_recording(R"({"cases": [{"name": "n", "shows": "s", "config": "c:1", "capacity": 4096, "context": 7,
    "start_stats": {"max_split_size": -1}, "seed": 3, "ops": [
    {"op": "alloc a 5 2", "at": [1, 2, 3], "calls": [["cudaMalloc", 9, "oom"], ["cudaMemGetInfo"], ["cudaFree", 8]],
     "events": [["oom", null, null, 5, 2], ["alloc", 1, 2, 5, 2, [0, 4]]],
     "layout": [[1, 0, 9, 2, "small", false, [0, 4], [[0, 4, 3, "A"], [4, 5, 0, "F"]]]],
     "stats": {"active.all": [1, 2, 3, 4], "num_ooms": 5}, "s": [1, 2, 3, 4, 5]},
    {"op": "get_fraction", "value": 0.25}, {"op": "free b", "skip": true}, {"op": "alloc z 0", "null": true},
    {"op": "alloc c 9", "error": "OutOfMemoryError", "message": "m"}]}]})",
                      "folder/file.json.gz");
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 1u);
  const Case& one = cases->front();
  EXPECT_EQ(one.file, "file");
  EXPECT_EQ(one.name, "n");
  EXPECT_EQ(one.config, "c:1");
  EXPECT_EQ(one.capacity.count, 4096u);
  EXPECT_EQ(one.context.count, 7u);
  EXPECT_TRUE(one.has_start_stats);
  EXPECT_FALSE(one.refused_at_load);
  ASSERT_EQ(one.steps.size(), 5u);
  const Answer& answer = *one.steps[0].answer;
  EXPECT_EQ(answer.at, (Place{1, 2, 3}));
  EXPECT_THAT(answer.calls, ElementsAre("cudaMalloc 9 oom", "cudaFree 8"));
  EXPECT_THAT(answer.events, ElementsAre(RecordedEvent{"oom", std::nullopt, 5, 2, {}},
                                         RecordedEvent{"alloc", Place{1, 2, std::nullopt}, 5, 2, PoolId{0, 4}}));
  ASSERT_EQ(answer.layout->size(), 1u);
  EXPECT_EQ(answer.layout->front().blocks.size(), 2u);
  EXPECT_EQ(answer.stats.at("num_ooms"), StatValue(std::int64_t{5}));
  EXPECT_TRUE(answer.sums);
  EXPECT_EQ(one.steps[1].answer->value, 0.25);
  EXPECT_TRUE(one.steps[2].answer->skip);
  EXPECT_TRUE(one.steps[3].answer->null);
  EXPECT_EQ(one.steps[4].answer->error, "OutOfMemoryError");
}

TEST(CaseRecording, ErrorsNameThePlace) {
  const auto with_op = [](const std::string& keys) { return R"({"cases": [{"name": "n", "ops": [{)" + keys + "}]}]}"; };
  struct Row {
    std::string text;
    std::string_view message;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"{", "file.json: at byte 2: not JSON"},
           {"{}", "file.json: cases: must be a list, and is missing"},
           {R"({"cases": 5})", "cases: must be a list"},
           {R"({"cases": [5]})", "cases[0].name: must be a string, and is missing"},
           {R"({"cases": [{"name": "n"}]})", "cases[0].ops: must be a list, and is missing"},
           {R"({"cases": [{"name": "n", "capacity": -1, "ops": []}]})", "cases[0].capacity: must be an integer from 0"},
           {R"({"cases": [{"name": "n", "capacity": 1e400, "ops": []}]})", "a number is out of range"},
           {with_op(""), "cases[0].ops[0].op: must be a string, and is missing"},
           {with_op(R"("op": "allok a 5")"), "cases[0].ops[0].op: 'allok' is not an operation"},
           {with_op(R"("op": "check", "at": [1])"), "cases[0].ops[0].at: must have 2 to 3 elements"},
           {with_op(R"("op": "check", "at": [1, 2, 1.5])"), "cases[0].ops[0].at[2]: must be an integer from 0"},
           {with_op(R"("op": "check", "at": [1, 2, 18446744073709551616])"), "at[2]: must be an integer from 0"},
           {with_op(R"("op": "check", "null": 1)"), "null: must be true or false"},
           {with_op(R"("op": "check", "calls": [[]])"), "calls[0]: must have 1 to 8 elements"},
           {with_op(R"("op": "check", "calls": [["f", {}]])"), "calls[0][1]: must be an integer"},
           {with_op(R"("op": "check", "events": [["alloc", 0, 0, 5]])"), "events[0]: must have 5 to 6 elements"},
           {with_op(R"("op": "check", "stats": [])"), "stats: must be an object"},
           {with_op(R"("op": "check", "stats": {"x": [1]})"), "stats.x: must have 4 to 4 elements"},
           {with_op(R"("op": "check", "stats": {"x": 9223372036854775808})"), "stats.x: must be an integer of 64 bits"},
           {with_op(R"("op": "check", "s": [1, 2])"), "s: must have 5 to 5 elements"},
           {with_op(R"("op": "check", "layout": [[0, 0, 5, 0, "small", false, [0, 0], [[0, 5, 5, "X"]]]])"),
            "layout[0][7][0][3]: must be A, P or F"},
           {with_op(R"("op": "check", "a\nnews": 1)"), "ops[0].a?news: is not a key of an answer"}}) {
    EXPECT_THAT(recording_error(row.text), HasSubstr(row.message)) << row.text;
  }
}

TEST(CaseRecording, HostileJson) {
  std::string values = R"({"cases":[1)";
  for (int i = 0; i < 300'000; ++i) values += ",1";
  for (const std::string& text : std::initializer_list<std::string>{
           std::string(1 << 20, '['), R"({"cases":)" + std::string(1 << 20, '['), values + "]}",
           "{" + std::string(1 << 16, '\0'), R"({"cases":")" + std::string(1 << 16, '\\'), "{\"\xff\xfe\": 1}"}) {
    const std::string message = recording_error(text);
    EXPECT_THAT(message, HasSubstr("file.json: at byte ")) << text.substr(0, 40);
    EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
  }
}

// The limit is one for all cases of a file.
TEST(CaseRecording, OperationsAreCounted) {
  const auto cases_of = [](int first, int second) {
    const auto ops = [](int count) {
      std::string text;
      for (int i = 0; i < count; ++i) text += R"({"op":"check"},)";
      text.back() = ' ';
      return text;
    };
    return R"({"cases":[{"name":"a","ops":[)" + ops(first) + R"(]},{"name":"b","ops":[)" + ops(second) + "]}]}";
  };
  EXPECT_EQ(recording_error(cases_of(25'000, 25'000)), "accepted");
  EXPECT_EQ(recording_error(cases_of(25'000, 25'001)), "file.json: cases[1].ops: more than 50000 operations in a file");
}

TEST(CaseRecording, EveryTruncationIsRefused) {
  const std::string whole = nlohmann::json{{"cases", {recorded_case("queries", "base_and_largest")}}}.dump();
  ASSERT_EQ(recording_error(whole), "accepted");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_NE(recording_error(std::string_view(whole).substr(0, size)), "accepted") << size;
  }
}

}  // namespace
}  // namespace quarry::tools
