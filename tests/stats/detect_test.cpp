#include <quarry/stats/read.h>

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/snapshot_document.h"
#include "support/temp_file.h"

namespace quarry::test {
namespace {

using stats::FileKind;

struct Case {
  std::string name;
  std::string content;
  FileKind kind;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<Case> cases() {
  const std::string long_metadata(5000, 'x');
  return {
      {"pickle", to_pickle(sample_snapshot()), FileKind::pytorch_pickle},
      {"json", sample_snapshot().dump(), FileKind::pytorch_json},
      {"bare_segments", sample_snapshot()["segments"].dump(1), FileKind::pytorch_json},
      {"no_segments", "[ ]", FileKind::pytorch_json},
      {"case_json", R"({"schema":1,"allocator":"torch","group":"split","cases":[{"ops":[]}]})", FileKind::case_json},
      {"case_names_segments", R"({"schema":1,"allocator":"t","cases":[{"segments":[],"traceEvents":1}]})",
       FileKind::case_json},
      {"ops", "# BR-01\ncap 23337MiB\nalloc weights 1730MiB\nexpect ok reserved=1\n", FileKind::case_ops},
      {"ops_for", "for i in 0..3: alloc a{i} 2MiB\nexpect@pytorch ok\n", FileKind::case_ops},
      {"ops_cut", "alloc a 512\nfree a\nfr", FileKind::case_ops},
      {"profiler", "\n{\n  \"schemaVersion\": 1,\n  \"traceEvents\": []}", FileKind::profiler_json},
      {"profiler_array", R"([{"ph":"X","name":"a \"quoted\" name","ts":1}])", FileKind::profiler_json},
      {"timeline", "[[-1, 1, 37888, 7], [12, 2, 512, 3]]", FileKind::memory_timeline},
      {"rmm", "Thread,Time,Action,Pointer,Size,Stream\n1,2,allocate,0x1,2,0\n", FileKind::rmm_csv},
      {"rmm_old", "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory\n", FileKind::rmm_csv},
      {"packing", "id,lower,upper,size\nb1,0,3,4\n", FileKind::packing_csv},
      {"packing_reordered", "id, size, upper, lower\r\n", FileKind::packing_csv},
      {"bfc", "2025-01-05: I xla/tsl/framework/bfc_allocator.cc:1058] BFCAllocator dump for GPU_0_bfc\n",
       FileKind::bfc_log},
      {"prose", "Once upon a time\nfree beer\n", FileKind::unknown},
      {"other_json", R"({"hello": "segments", "nested": {"segments": []}})", FileKind::unknown},
      {"other_csv", "a,b,c\n1,2,3\n", FileKind::unknown},
      {"binary", std::string("cap 12\0", 7), FileKind::unknown},
      {"long_string", R"({"note":")" + long_metadata + R"(","device_traces":[]})", FileKind::pytorch_json},
  };
}

class Detect : public ::testing::TestWithParam<Case> {};

TEST_P(Detect, ContentDecides) {
  for (const std::string& content : {GetParam().content, gzip(GetParam().content)}) {
    const TempFile file(content, "misleading.pickle");
    const auto kind = stats::detect_kind(file.path());
    ASSERT_TRUE(kind) << kind.error().message;
    EXPECT_EQ(stats::kind_name(*kind), stats::kind_name(GetParam().kind));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Detect, ::testing::ValuesIn(cases()), [](const auto& test) { return test.param.name; });

TEST(Detect, OtherKindsAreNamedWhenReadAsASnapshot) {
  const TempFile file("Thread,Time,Action,Pointer,Size,Stream\n");
  const auto trace = stats::read_snapshot(file.path());
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().message,
            file.path() + ": at byte 0: is no PyTorch snapshot but a file of another kind: RMM log");
}

TEST(ReadText, UnpacksUpToTheLimit) {
  const TempFile plain("alloc a 512\n");
  const TempFile packed(gzip("alloc a 512\n"));
  EXPECT_EQ(*stats::read_text(plain.path(), 12), "alloc a 512\n");
  EXPECT_EQ(*stats::read_text(packed.path(), 12), "alloc a 512\n");
  const auto refused = stats::read_text(packed.path(), 11);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid);
  EXPECT_NE(refused.error().message.find("at byte 11: "), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace quarry::test
