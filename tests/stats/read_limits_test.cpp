// Files that would grow: bombs, endless data, and things that are no files.
#include <quarry/stats/read.h>

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/reader_child.h"
#include "support/snapshot_document.h"
#include "support/temp_file.h"

namespace quarry::test {
namespace {

constexpr std::size_t kMemory = 48 << 20;

void expect_refused(const std::string& content, const std::string& rule) {
  const TempFile file(content);
  const ChildOutcome outcome = read_in_child(file.path(), kMemory);
  ASSERT_TRUE(outcome.answered);
  EXPECT_FALSE(outcome.read);
  EXPECT_TRUE(outcome.message.starts_with(file.path() + ": at byte ")) << outcome.message;
  EXPECT_NE(outcome.message.find(rule), std::string::npos) << outcome.message;
}

void expect_read(const std::string& content, std::size_t memory = kMemory) {
  const TempFile file(content);
  const ChildOutcome outcome = read_in_child(file.path(), memory);
  ASSERT_TRUE(outcome.answered);
  EXPECT_TRUE(outcome.read) << outcome.message;
}

std::string repeat(const std::string& piece, std::size_t count) {
  std::string all;
  all.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) all += piece;
  return all;
}

// `prefix` followed by `mebibytes` of `piece`, packed: one gzip member for each mebibyte, so that it is made quickly.
std::string gzip_bomb(const std::string& prefix, const std::string& piece, std::size_t mebibytes) {
  return gzip(prefix) + repeat(gzip(repeat(piece, (1 << 20) / piece.size())), mebibytes);
}

// {"segments": [], "other": <body>}
std::string beside_segments(const std::string& body) {
  return PickleBuilder().op('}').op('(').text("segments").op(']').text("other").raw(body).op('u').stop();
}

TEST(ReadLimits, GzipOfZeros) { expect_refused(gzip_bomb("", std::string(1024, '\0'), 1024), "is no kind of file"); }

TEST(ReadLimits, GzipOfZerosBehindAPickle) {
  expect_refused(gzip_bomb(to_pickle(sample_snapshot()), std::string(1024, '\0'), 1024),
                 "unpacks to more than 400 times");
}

TEST(ReadLimits, GzipOfAnEndlessString) {
  const std::string prefix = PickleBuilder().op('}').op('X').little(0xffffffff, 4).bytes();
  expect_refused(gzip_bomb(prefix, "x", 64), "a string of 4294967295 bytes");
  expect_refused(gzip_bomb("{\"segments\":[],\"x\":\"", "x", 64), "unpacks to more than 400 times");
}

TEST(ReadLimits, GzipOfEndlessValues) {
  const std::string open = PickleBuilder().op(']').op('(').bytes();
  for (const std::string piece : {"]", "]\x94", "K\x01", "}", "N"}) {
    expect_refused(gzip_bomb(open, piece, 64), "");
  }
  expect_refused(gzip_bomb("{\"segments\":[", "[],", 64), "unpacks to more than 400 times");
  expect_refused(gzip_bomb("{\"segments\":[", "{},", 64), "unpacks to more than 400 times");
}

TEST(ReadLimits, PlainEndlessValues) {
  const std::string open = PickleBuilder().op(']').op('(').bytes();
  expect_refused(open + std::string(32 << 20, ']'), "containers: more than a recording of this size has");
  expect_refused(open + std::string(32 << 20, 'N'), "values on the stack: more than a recording of this size has");
  expect_refused(open + repeat("]\x94", 8 << 20), "more than a recording of this size has");
  expect_refused(PickleBuilder().op(']').bytes() + std::string(32 << 20, '\x94'), "memo entries: more than");
  expect_refused(PickleBuilder().op(']').bytes() + repeat("](a", 8 << 20), "needs more values");
}

TEST(ReadLimits, AMillionEmptyListsAreNothing) {
  const std::string lists(1000000, ']');
  expect_read(beside_segments(PickleBuilder(4).op(']').op('(').raw(lists).op('e').bytes().substr(2)));
  expect_read("{\"segments\":[],\"other\":[" + repeat("[],", 1000000) + "[]]}");
  expect_read("{\"segments\":[],\"other\":[" + repeat("{\"a\":1},", 1000000) + "{}]}");
}

TEST(ReadLimits, AMillionDevicesAreRefused) {
  const std::string lists(1000000, ']');
  const std::string body =
      PickleBuilder().op('}').text("device_traces").op(']').op('(').raw(lists).op('e').op('s').stop();
  expect_refused(body, "has more than 1024 devices");
}

TEST(ReadLimits, AMillionTinyEntriesStayTiny) {
  PickleBuilder pickle;
  pickle.op('}').text("device_traces").op(']').op(']').op('(');
  pickle.op('}').op('(').text("action").op(0x94).text("snapshot").op(0x94).op('u');
  for (int i = 1; i < 1000000; ++i) {
    pickle.op('}').op('(').op('h').byte(0).op('h').byte(1).op('u');
    if (i % 1000 == 0) pickle.op('e').op('(');
  }
  expect_read(pickle.op('e').op('a').op('s').stop(), 256 << 20);
}

TEST(ReadLimits, ReferencesDoNotMultiply) {
  // Each level holds the one below ten times: 10^40 items if they were copied.
  PickleBuilder bomb;
  bomb.op('(').op('N').op('l').op('q').byte(0);
  for (int level = 0; level < 40; ++level) {
    bomb.op(']').op('q').byte(level + 1).op('(');
    for (int i = 0; i < 10; ++i) bomb.op('h').byte(level);
    bomb.op('e');
  }
  std::string levels = bomb.bytes().substr(2);
  PickleBuilder list;
  list.op('(').raw(levels).op('l');
  expect_read(beside_segments(list.bytes().substr(2)));
}

TEST(ReadLimits, RecordsAreNotCopiedByReference) {
  const std::string entry = to_pickle(sample_entry("alloc", 4096, 512), {.memo = PickleStyle::Memo::none});
  PickleBuilder list;
  list.op('}').text("device_traces").op(']').op(']').op('(').raw(entry.substr(2, entry.size() - 3)).op('q').byte(0);
  for (int i = 0; i < 100000; ++i) list.op('h').byte(0);
  expect_refused(list.op('e').op('a').op('s').stop(), "key 'device_traces' of the snapshot is not a list");
  PickleBuilder devices;
  devices.op('}').text("device_traces").op(']').op('(').op(']').op('q').byte(1).op('(');
  devices.raw(entry.substr(2, entry.size() - 3)).op('e').op('h').byte(1).op('e').op('s');
  expect_refused(devices.stop(), "key 'device_traces' of the snapshot is not a list");
}

std::string many_strings(int count) {
  PickleBuilder list;
  list.op(']').op('(');
  for (int i = 0; i < count; ++i) list.text("name " + std::to_string(i));
  return beside_segments(list.op('e').bytes().substr(2));
}

TEST(ReadLimits, DistinctStringsStaySmall) {
  expect_read(many_strings(200000));
  expect_refused(many_strings(2000000), "different strings: more than a recording of this size has");
  std::string json = "{\"segments\":[]";
  for (int i = 0; i < 1000000; ++i) json += ",\"" + std::to_string(i) + "\":1";
  expect_refused(json + "}", "different strings: more than a recording of this size has");
}

// A million dicts between one MARK and one APPENDS: all of them are open until then.
TEST(ReadLimits, OpenContainersAreBounded) {
  PickleBuilder pickle;
  pickle.op('}').text("device_traces").op(']').op(']').op('(').text("action").op(0x94);
  expect_refused(pickle.bytes() + repeat({"}(h\0h\0u", 7}, 1000000), "open containers: more than");
  expect_refused(pickle.bytes() + repeat({']', 'K', 1, 'a'}, 1000000), "open containers: more than");
}

TEST(ReadLimits, AnUnbatchedTraceOfRealSizeIsRead) {
  const PickleStyle style{.protocol = 2, .memo = PickleStyle::Memo::none, .batch = 0};
  const std::string entry = to_pickle(sample_entry("alloc", 0x7f0000000000, 512), style);
  const std::string body = entry.substr(2, entry.size() - 3);
  PickleBuilder pickle(2);
  pickle.op('}').text("device_traces").op(']').op(']').op('(').raw(repeat(body, 400000)).op('e').op('a').op('s');
  expect_read(pickle.stop(), pickle.size() * 4);
}

TEST(ReadLimits, ThingsThatAreNoFiles) {
  const std::string fifo = temp_path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto expect = [](const std::string& path, const std::string& rule) {
    for (const auto& message : {stats::read_snapshot(path) ? "" : stats::read_snapshot(path).error().message,
                                stats::detect_kind(path) ? "" : stats::detect_kind(path).error().message,
                                stats::read_text(path, 10) ? "" : stats::read_text(path, 10).error().message}) {
      EXPECT_EQ(message, path + ": at byte 0: " + rule);
    }
  };
  expect(fifo, "a FIFO is not read, only regular files");
  expect(::testing::TempDir(), "a directory is not read, only regular files");
  expect("/dev/zero", "a character device is not read, only regular files");
  expect(temp_path("missing"), "cannot be opened: No such file or directory");
  std::remove(fifo.c_str());
}

}  // namespace
}  // namespace quarry::test
