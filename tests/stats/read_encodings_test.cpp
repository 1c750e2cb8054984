// One document in the encodings of different writers is one trace.
#include <quarry/stats/read.h>

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/snapshot_document.h"
#include "support/temp_file.h"

namespace quarry::test {
namespace {

using Memo = PickleStyle::Memo;

struct Encoding {
  std::string name;
  PickleStyle style;
};
void PrintTo(const Encoding& encoding, std::ostream* out) { *out << encoding.name; }

std::vector<Encoding> encodings() {
  std::vector<Encoding> all;
  for (int protocol = 2; protocol <= 5; ++protocol) {
    all.push_back({"protocol" + std::to_string(protocol), {.protocol = protocol}});
  }
  all.push_back({"native_writer", {.protocol = 2, .memo = Memo::put, .batch = 0}});
  all.push_back({"single_items", {.protocol = 2, .memo = Memo::put, .batch = 1}});
  all.push_back({"small_batches", {.batch = 2}});
  all.push_back({"no_memo", {.protocol = 3, .memo = Memo::none}});
  all.push_back({"framed", {.frame = true}});
  all.push_back({"nine_byte_integers", {.nine_byte = true}});
  all.push_back({"long4", {.long4 = true}});
  all.push_back({"tuples_as_lists", {.tuples = false}});
  all.push_back({"marked_containers", {.mark_containers = true}});
  return all;
}

std::string read_text_of(const std::string& content) {
  const TempFile file(content);
  const auto trace = stats::read_snapshot(file.path());
  if (!trace) return "error: " + trace.error().message;
  EXPECT_EQ(trace->skipped_keys, 0u);
  return trace_text(*trace);
}

const std::string& reference() {
  static const std::string text = read_text_of(to_pickle(sample_snapshot()));
  return text;
}

class ReadEncodings : public ::testing::TestWithParam<Encoding> {};

TEST_P(ReadEncodings, GivesTheSameTrace) {
  const std::string pickle = to_pickle(sample_snapshot(), GetParam().style);
  EXPECT_EQ(read_text_of(pickle), reference());
  EXPECT_EQ(read_text_of(gzip(pickle)), reference());
}

INSTANTIATE_TEST_SUITE_P(Styles, ReadEncodings, ::testing::ValuesIn(encodings()),
                         [](const auto& test) { return test.param.name; });

TEST(ReadEncodings, ReferenceHoldsWhatTheDocumentSays) {
  EXPECT_NE(reference().find("settings true 'max_split_size_mb:128' 134217728 0.5 true 1:0 32768:8"), std::string::npos)
      << reference();
  EXPECT_NE(reference().find("oom 0 4096 free 1048576"), std::string::npos);
  EXPECT_NE(reference().find("alloc 7f0000000200 100 free 0 stream 94355079556608 at 1796106437441054 pool 0,7"),
            std::string::npos)
      << reference();
  EXPECT_NE(reference().find("step@train.py:12 main@train.py:40"), std::string::npos);
  EXPECT_LT(reference().find("segment 7f0000000000"), reference().find("segment 7f0004000000"));  // by address
}

TEST(ReadEncodings, JsonGivesTheSameTrace) {
  EXPECT_EQ(read_text_of(sample_snapshot().dump()), reference());
  EXPECT_EQ(read_text_of(sample_snapshot().dump(2)), reference());
  EXPECT_EQ(read_text_of(gzip(sample_snapshot().dump())), reference());
  EXPECT_EQ(read_text_of("\xef\xbb\xbf" + sample_snapshot().dump()), reference());
}

TEST(ReadEncodings, GzipOfSeveralMembersAndPaddingIsRead) {
  const std::string pickle = to_pickle(sample_snapshot());
  EXPECT_EQ(read_text_of(gzip(pickle.substr(0, 100)) + gzip(pickle.substr(100))), reference());
  EXPECT_EQ(read_text_of(gzip(pickle) + std::string(512, '\0')), reference());
}

TEST(ReadEncodings, ZeroBytesMayFollowThePickle) {
  EXPECT_EQ(read_text_of(to_pickle(sample_snapshot()) + std::string(300000, '\0')), reference());
}

TEST(ReadEncodings, ALongTraceComesThroughEveryWindowEdge) {
  Json snapshot = sample_snapshot();
  Json& entries = snapshot["device_traces"][0];
  for (unsigned i = 0; i < 20000; ++i) entries.push_back(sample_entry("alloc", 0x7f0000000000 + i * 512, i));
  const std::string text = read_text_of(to_pickle(snapshot));
  EXPECT_EQ(read_text_of(to_pickle(snapshot, {.protocol = 2, .memo = Memo::put, .batch = 0})), text);
  EXPECT_EQ(read_text_of(to_pickle(snapshot, {.memo = Memo::none, .batch = 7})), text);
  EXPECT_EQ(read_text_of(gzip(snapshot.dump())), text);
  EXPECT_NE(text.find("alloc 7f00009c3e00 19999 "), std::string::npos);
}

}  // namespace
}  // namespace quarry::test
