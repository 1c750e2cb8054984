#include <quarry/stats/write.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <quarry/stats/read.h>

#include "support/snapshot_document.h"
#include "support/temp_file.h"

namespace quarry::test {
namespace {

namespace fs = std::filesystem;

Result<stats::Trace> read_back(const std::string& content) { return stats::read_snapshot(TempFile(content).path()); }

void expect_round_trip(const stats::Trace& trace) {
  const std::string text = trace_text(trace);
  for (const std::string& content : {stats::to_snapshot_pickle(trace), stats::to_snapshot_json(trace)}) {
    const auto again = read_back(content);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(trace_text(*again) == text);  // too long to print
    EXPECT_EQ(again->skipped_keys, 0u);
  }
}

TEST(WriteSnapshot, ReadsBackTheSame) {
  const auto trace = read_back(to_pickle(sample_snapshot()));
  ASSERT_TRUE(trace);
  expect_round_trip(*trace);
}

TEST(WriteSnapshot, OwnTracesReadBackTheSame) {
  const fs::path folder = fs::path(QUARRY_TEST_DATA) / "traces";
  int files = 0;
  for (const char* name : {"mlp_adam", "cuda_graphs", "prefetch_streams", "oom_growing_batch", "varlen_expandable"}) {
    const fs::path path = folder / (std::string(name) + ".pickle.gz");
    if (!fs::exists(path)) continue;
    ++files;
    const auto trace = stats::read_snapshot(path.string());
    ASSERT_TRUE(trace) << trace.error().message;
    expect_round_trip(*trace);
  }
  EXPECT_EQ(files, 5);
}

TEST(WriteSnapshot, OddValuesReadBackTheSame) {
  stats::Trace trace;
  stats::DeviceTrace& device = trace.devices.emplace_back();
  const stats::Frame frame{trace.strings.intern("operator\"\"_x\n\\"), trace.strings.intern(std::string(300, 'f')), -1};
  for (const std::uint64_t value : {0ull, 255ull, 256ull, 65535ull, 65536ull, 0x7fffffffull, 0x80000000ull,
                                    0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull}) {
    stats::TraceEntry entry;
    entry.address = {value};
    entry.stream = value;
    entry.stack = trace.stacks.intern({&frame, 1});
    entry.user_metadata = trace.strings.intern("tag");
    entry.pool = trace.pool_index({value, 1});
    device.entries.push_back(entry);
  }
  trace.devices.emplace_back();
  expect_round_trip(trace);
}

// Opcode and operand bytes at `at`, for what the writer may use; 0 for anything else.
std::size_t opcode_size(const std::string& pickle, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(pickle[at + i])); };
  static const std::string kBare = "(.N}])tuaels\x88\x89\x85\x86\x87\x94";
  if (kBare.find(pickle[at]) != std::string::npos) return 1;
  switch (pickle[at]) {
    case 'K':
    case 'h':
    case 'q':
    case '\x80':
      return 2;
    case 'M':
      return 3;
    case 'J':
    case 'j':
    case 'r':
      return 5;
    case 'G':
    case '\x95':
      return 9;
    case 'X':
      return 5 + byte(1) + byte(2) * 256;
    case '\x8c':
      return 2 + byte(1);
    case '\x8a':
      return byte(1) <= 8 ? 2 + byte(1) : 0;
    default:
      return 0;
  }
}

TEST(WriteSnapshot, PickleHasOnlyOpcodesTheViewerKnows) {
  Json snapshot = sample_snapshot();
  for (unsigned i = 0; i < 3000; ++i) snapshot["device_traces"][0].push_back(sample_entry("alloc", i, i));
  const auto trace = read_back(to_pickle(snapshot));
  ASSERT_TRUE(trace);
  const std::string pickle = stats::to_snapshot_pickle(*trace);
  std::size_t at = 0;
  std::size_t appends = 0;
  while (at < pickle.size()) {
    const std::size_t size = opcode_size(pickle, at);
    ASSERT_NE(size, 0u) << "byte " << at;
    appends += pickle[at] == 'e';
    at += size;
  }
  EXPECT_EQ(at, pickle.size());
  EXPECT_EQ(pickle.substr(0, 2), "\x80\x04");
  EXPECT_GT(appends, 3u);  // long lists are written in batches
}

TEST(WriteSnapshot, StacksAreWrittenOnceInAPickle) {
  Json snapshot = sample_snapshot();
  const auto one = read_back(to_pickle(snapshot));
  for (int i = 0; i < 100; ++i) snapshot["device_traces"][0].push_back(snapshot["device_traces"][0][1]);
  const auto many = read_back(to_pickle(snapshot));
  ASSERT_TRUE(one && many);
  const std::size_t added = stats::to_snapshot_pickle(*many).size() - stats::to_snapshot_pickle(*one).size();
  EXPECT_LT(added, 100u * 64u);
}

TEST(WriteFile, ReplacesTheFileAndLeavesNothingElse) {
  const fs::path folder = temp_path("folder");
  fs::create_directory(folder);
  const std::string path = folder / "out.json";
  ASSERT_TRUE(stats::write_file(path, "first"));
  ASSERT_TRUE(stats::write_file(path, "second"));
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  fs::remove_all(folder);
}

TEST(WriteFile, SaysWhyItCannot) {
  const std::string path = temp_path("missing") + "/out.json";
  const Status status = stats::write_file(path, "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::invalid);
  EXPECT_EQ(status.error().message, path + ": cannot be written: No such file or directory");
}

}  // namespace
}  // namespace quarry::test
