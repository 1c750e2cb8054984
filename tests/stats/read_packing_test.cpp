// Packing problems as CSV: what is read, and what is refused with its place and rule.
#include <quarry/stats/packing.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_file.h"

namespace quarry::test {
namespace {

using stats::PackingBuffer;
using stats::PackingProblem;
using testing::HasSubstr;

using Row = std::vector<std::uint64_t>;  // id, lower, upper, size

std::vector<Row> read(const std::string& content) {
  const TempFile file(content);
  const Result<PackingProblem> problem = stats::read_packing(file.path());
  EXPECT_TRUE(problem) << problem.error().message;
  std::vector<Row> rows;
  if (!problem) return rows;
  for (const PackingBuffer& b : problem->buffers) rows.push_back({b.id, b.lower, b.upper, b.size.count});
  return rows;
}

void expect_refused(const std::string& content, std::uint64_t offset, const std::string& rule) {
  const TempFile file(content);
  const Result<PackingProblem> problem = stats::read_packing(file.path());
  ASSERT_FALSE(problem) << content;
  EXPECT_EQ(problem.error().code, ErrorCode::invalid);
  const std::string start = file.path() + ": at byte " + std::to_string(offset) + ": ";
  EXPECT_EQ(problem.error().message.substr(0, start.size()), start) << problem.error().message;
  EXPECT_THAT(problem.error().message, HasSubstr(rule));
  EXPECT_EQ(problem.error().message.find('\n'), std::string::npos);
}

TEST(ReadPacking, rows_come_in_the_order_of_their_ids) {
  EXPECT_EQ(read("id,lower,upper,size\n7,0,3,4\n2,3,9,5\n"), (std::vector<Row>{{2, 3, 9, 5}, {7, 0, 3, 4}}));
}

TEST(ReadPacking, without_numbers_as_ids_the_rows_keep_their_order) {
  EXPECT_EQ(read("id,lower,upper,size\nb9,0,3,4\n2,3,9,5\n"), (std::vector<Row>{{0, 0, 3, 4}, {1, 3, 9, 5}}));
  EXPECT_EQ(read("lower,upper,size\n1,2,3\n0,9,4\n"), (std::vector<Row>{{0, 1, 2, 3}, {1, 0, 9, 4}}));
}

TEST(ReadPacking, looks_through_gzip_byte_order_mark_spaces_and_line_ends) {
  const std::string text = "\xef\xbb\xbf\r\nsize , lower,upper\r\n 4,0, 3\r\n\r\n5,1,2";
  EXPECT_EQ(read(text), (std::vector<Row>{{0, 0, 3, 4}, {1, 1, 2, 5}}));
  EXPECT_EQ(read(gzip(text)), (std::vector<Row>{{0, 0, 3, 4}, {1, 1, 2, 5}}));
}

TEST(ReadPacking, what_is_left_out_is_told) {
  const TempFile file("id,lower,upper,size,alignment,x\n0,0,3,0,512,\n1,0,3,8,512,y\n");
  const Result<PackingProblem> problem = stats::read_packing(file.path());
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->buffers.size(), 1u);
  EXPECT_EQ(problem->empty, 1u);
  EXPECT_EQ(problem->skipped_columns, (std::vector<std::string>{"alignment", "x"}));
}

TEST(ReadPacking, a_header_alone_is_a_problem_of_nothing) { EXPECT_TRUE(read("id,lower,upper,size\n").empty()); }

TEST(ReadPacking, refuses_a_header_that_does_not_fit) {
  expect_refused("\n \n", 0, "holds no header");
  expect_refused("id,lower,size\n0,0,1\n", 0, "columns lower, upper and size are needed");
  expect_refused("id,lower,upper,size,lower\n", 0, "column lower stands there twice");
  expect_refused("lower,upper,size" + std::string(70, ','), 0, "more than 64 columns");
}

TEST(ReadPacking, refuses_a_row_that_does_not_fit) {
  const std::string head = "id,lower,upper,size\n";  // 20 bytes
  expect_refused(head + "0,0,3\n", 20, "row 1 of a packing problem: has fewer columns");
  expect_refused(head + "0,0,3,4,\n", 20, "has more columns");
  expect_refused(head + "0,0,3,4\n1,3,3,4\n", 28, "row 2 of a packing problem: upper is not above lower");
  expect_refused(head + "0,5,3,4\n", 20, "upper is not above lower");
}

TEST(ReadPacking, refuses_what_is_no_number_where_it_stands) {
  const std::string head = "id,lower,upper,size\n";
  for (const std::string bad : {"", "-1", "+1", "1.5", "1e3", "0x10", "nan", "1 2", "9223372036854775808",
                                "99999999999999999999999", "\"1\"", "\xc2\xb2"}) {
    expect_refused(head + "0,0,3," + bad + "\n", 26, "size is not a whole number below 2^63");
    expect_refused(head + "0," + bad + ",3,4\n", 22, "lower is not a whole number below 2^63");
    expect_refused(head + "0,0," + bad + ",4\n", 24, "upper is not a whole number below 2^63");
  }
}

TEST(ReadPacking, the_sizes_together_stay_below_two_to_the_63) {
  const std::string head = "id,lower,upper,size\n";
  EXPECT_EQ(read(head + "0,0,1,9223372036854775806\n").size(), 1u);
  expect_refused(head + "0,0,1,9223372036854775806\n1,5,6,2\n", 46, "the sizes so far reach 2^63 bytes");
}

TEST(ReadPacking, an_endless_line_ends_the_reading) {
  expect_refused("id,lower,upper,size\n" + std::string(1 << 20, '1') + "\n", 20, "a line of more than 4096 bytes");
  expect_refused("id,lower,upper,size\n" + std::string(1 << 20, '1'), 20, "a line of more than 4096 bytes");
}

TEST(ReadPacking, more_rows_than_it_holds_are_refused) {
  std::string text = "lower,upper,size\n";
  for (std::uint64_t i = 0; i <= stats::kMaxPackingBuffers; ++i) text += "0,1,1\n";
  expect_refused(text, 17 + 6 * stats::kMaxPackingBuffers, "more than 2^20 buffers");
}

// Whatever is cut off, the answer is a problem or one line.
TEST(ReadPacking, every_truncation_is_read_or_refused) {
  const std::string whole = "id,lower,upper,size\n0,0,3,4\n1,3,9,5\n";
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const TempFile file(whole.substr(0, length));
    const Result<PackingProblem> problem = stats::read_packing(file.path());
    const bool sound = problem || problem.error().message.starts_with(file.path() + ": at byte ");
    EXPECT_TRUE(sound) << length;
  }
}

TEST(ReadPacking, refuses_what_is_no_file) {
  const Result<PackingProblem> directory = stats::read_packing(::testing::TempDir());
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("a directory is not read"));
  EXPECT_FALSE(stats::read_packing(temp_path("missing")));
}

}  // namespace
}  // namespace quarry::test
