// Bad files end in one line that names file, byte and rule; with little memory, and never in a crash.
#include <quarry/stats/read.h>

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/reader_child.h"
#include "support/snapshot_document.h"
#include "support/temp_file.h"

namespace quarry::test {
namespace {

// What the reader itself may use: the rest of the 64 MiB is for a program around it.
constexpr std::size_t kMemory = 48 << 20;

struct Case {
  std::string name;
  std::string content;
  std::string rule;  // part of the message after the offset
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::string with(const char* list, const char* key, const Json& value) {
  Json snapshot = sample_snapshot();
  Json* record = &snapshot["segments"][0];
  if (std::string(list) == "entry") record = &snapshot["device_traces"][0][1];
  if (std::string(list) == "block") record = &snapshot["segments"][0]["blocks"][0];
  if (std::string(list) == "frame") record = &snapshot["device_traces"][0][1]["frames"][0];
  if (std::string(list) == "root") record = &snapshot;
  if (std::string(list) == "settings") record = &snapshot["allocator_settings"];
  (*record)[key] = value;
  return to_pickle(snapshot);
}

std::string without(const char* list, const char* key) {
  Json snapshot = sample_snapshot();
  Json& record = std::string(list) == "entry" ? snapshot["device_traces"][0][1] : snapshot["segments"][0];
  record.erase(key);
  return to_pickle(snapshot);
}

std::vector<Case> opcode_cases() {
  const auto after = [](const char* bytes, std::size_t size) {
    return PickleBuilder().op('}').raw({bytes, size}).stop();
  };
  return {
      {"global", after("cos\nsystem\n", 11), "opcode GLOBAL is refused"},
      {"stack_global", after("\x93", 1), "opcode STACK_GLOBAL is refused"},
      {"reduce", after("R", 1), "opcode REDUCE is refused"},
      {"build", after("b", 1), "opcode BUILD is refused"},
      {"inst", after("ios\nsystem\n", 11), "opcode INST is refused"},
      {"obj", after("o", 1), "opcode OBJ is refused"},
      {"newobj", after("\x81", 1), "opcode NEWOBJ is refused"},
      {"newobj_ex", after("\x92", 1), "opcode NEWOBJ_EX is refused"},
      {"ext1", after("\x82\x01", 2), "opcode EXT1 is refused"},
      {"ext2", after("\x83\x01\x01", 3), "opcode EXT2 is refused"},
      {"ext4", after("\x84\x01\x01\x01\x01", 5), "opcode EXT4 is refused"},
      {"persid", after("P1\n", 3), "opcode PERSID is refused"},
      {"binpersid", after("Q", 1), "opcode BINPERSID is refused"},
      {"next_buffer", after("\x97", 1), "opcode NEXT_BUFFER is refused"},
      {"readonly_buffer", after("\x98", 1), "opcode READONLY_BUFFER is refused"},
      {"bytes", after("C\x01x", 3), "opcode SHORT_BINBYTES is refused"},
      {"set", after("\x8f", 1), "opcode EMPTY_SET is refused"},
      {"unknown", after("\xff", 1), "at byte 3: unknown opcode 0xff"},
      {"protocol_6", "\x80\x06}.", "pickle protocol 6 is refused"},
      {"protocol_1", "\x80\x01}.", "pickle protocol 1 is refused"},
      {"protocol_255", "\x80\xff}.", "pickle protocol 255 is refused"},
      {"proto_only", "\x80", "ends in the middle"},
      {"memo_never_set", PickleBuilder().op('h').byte(7).stop(), "at byte 2: memo entry 7 was never set"},
      {"memo_gap", PickleBuilder().op(']').op('q').byte(2).op('h').byte(1).stop(), "memo entry 1 was never set"},
      {"memo_far", PickleBuilder().op(']').op('r').little(0xffffffff, 4).stop(), "memo entry 4294967295 has a number"},
      {"memo_of_nothing", PickleBuilder().op(0x94).stop(), "more values than the stack has"},
      {"mark_missing", PickleBuilder().op(']').op('e').stop(), "needs a MARK"},
      {"mark_left", PickleBuilder().op('(').op(']').stop(), "STOP with other than one value"},
      {"append_below_mark", PickleBuilder().op(']').op('(').op('K').byte(1).op('a').stop(), "more values than"},
      {"no_container", PickleBuilder().op('(').op('K').byte(1).op('e').stop(), "needs a container below the MARK"},
      {"stack_underflow", PickleBuilder().op('a').stop(), "more values than the stack has"},
      {"tuple_underflow", PickleBuilder().op('K').byte(1).op(0x87).stop(), "more values than the stack has"},
      {"nothing_to_stop", PickleBuilder().stop(), "STOP with other than one value"},
      {"two_values", PickleBuilder().op('N').op('N').stop(), "STOP with other than one value"},
      {"odd_items", PickleBuilder().op('}').op('(').op('N').op('u').stop(), "a key without a value"},
      {"append_to_dict", PickleBuilder().op('}').op('N').op('a').stop(), "not an open list"},
      {"set_item_of_list", PickleBuilder().op(']').text("a").op('N').op('s').stop(), "not an open dict"},
      {"list_in_itself", PickleBuilder().op(']').op('q').byte(0).op('h').byte(0).op('a').stop(), "list to itself"},
      {"dict_in_itself", PickleBuilder().op('}').op('q').byte(0).text("a").op('h').byte(0).op('s').stop(),
       "into itself"},
      {"changed_after_use",
       PickleBuilder().op(']').op(']').op('q').byte(0).op('a').op('h').byte(0).op('N').op('a').stop(),
       "not an open list"},
      {"trailing_data", to_pickle(sample_snapshot()) + "x", "data follows the end of the pickle"},
      {"trailing_after_zeros", to_pickle(sample_snapshot()) + std::string(9, '\0') + "\x80", "data follows"},
  };
}

std::vector<Case> length_cases() {
  const std::string snapshot = to_pickle(sample_snapshot());
  return {
      {"string_4g", PickleBuilder().op('X').little(0xffffffff, 4).stop(), "a string of 4294967295 bytes"},
      {"string_over_file", PickleBuilder().op('X').little(1 << 20, 4).stop(), "longer than the file"},
      {"string_2_63", PickleBuilder().op(0x8d).little(1ull << 63, 8).stop(), "a string of 9223372036854775808 bytes"},
      {"string_2_64", PickleBuilder().op(0x8d).little(~0ull, 8).stop(), "a string of 18446744073709551615 bytes"},
      {"long1_10", PickleBuilder().op(0x8a).byte(10).raw(std::string(10, 'x')).stop(), "an integer of 10 bytes"},
      {"long1_255", PickleBuilder().op(0x8a).byte(255).raw(std::string(255, 'x')).stop(), "an integer of 255 bytes"},
      {"long1_9_too_big", PickleBuilder().op(0x8a).byte(9).little(1, 8).byte(1).stop(), "does not fit into 64 bits"},
      {"long4_2g", PickleBuilder().op(0x8b).little(0x7fffffff, 4).stop(), "an integer of 2147483647 bytes"},
      {"long4_negative", PickleBuilder().op(0x8b).little(0xffffffff, 4).stop(), "an integer of 4294967295 bytes"},
      {"frame_2_64", PickleBuilder().op(0x95).little(~0ull, 8).op(']').stop(), "FRAME of 18446744073709551615 bytes"},
      {"frame_long", PickleBuilder().op(0x95).little(3, 8).op(']').stop(), "FRAME of 3 bytes is longer than the file"},
      {"frame_in_frame", PickleBuilder().op(0x95).little(12, 8).op(0x95).little(2, 8).op(']').raw(".  ").bytes(),
       "FRAME inside a frame"},
      {"stop_in_frame", PickleBuilder().op(0x95).little(4, 8).op(']').raw(".\0\0").op(0).op(0).op(0).bytes(),
       "STOP before the end of its FRAME"},
      {"gzip_frame_2_64", gzip(PickleBuilder().op(0x95).little(~0ull, 8).op(']').stop()), "FRAME reaches beyond 2^64"},
      {"deep_marks", PickleBuilder().raw(std::string(100000, '(')).stop(), "nested deeper than 64"},
      {"deep_lists", PickleBuilder().raw(std::string(100000, ']')).raw(std::string(99999, 'a')).stop(),
       "is no snapshot"},
      {"json_deep_lists", "{\"segments\":" + std::string(100000, '['), "nested deeper than 64"},
      {"json_deep_dicts",
       [] {
         std::string text = "{\"segments\":1";
         for (int i = 0; i < 100000; ++i) text += ",\"a\":{\"b\":1";
         return text;
       }(),
       "nested deeper than 64"},
      {"json_unclosed_string", "{\"segments\":\"" + std::string(100000, 'x'), "no valid JSON"},
      {"json_long_string", "{\"segments\":\"" + std::string(5 << 20, 'x') + "\"}", "a token longer than"},
      {"json_long_number", "{\"segments\":" + std::string(5 << 20, '9') + "}", "a token longer than"},
      {"json_spaces", "{\"segments\":" + std::string(5 << 20, ' ') + "[]}", "a token longer than"},
      {"json_trailing", sample_snapshot().dump() + "]", "no valid JSON"},
      {"json_bad_utf8", "{\"segments\":[],\"x\":\"\xff\"}", "no valid JSON"},
      {"json_twice", "{\"segments\":[],\"segments\":[]}", "key 'segments' of the snapshot stands there twice"},
      {"gzip_cut", gzip(snapshot).substr(0, 200), "the gzip stream ends early"},
      {"gzip_header_only", gzip(snapshot).substr(0, 10), "the gzip stream ends early"},
      {"gzip_no_checksum", gzip(snapshot).substr(0, gzip(snapshot).size() - 8), "the gzip stream ends early"},
      {"gzip_bad_checksum", gzip(snapshot).replace(gzip(snapshot).size() - 8, 1, "\x7f"), "the gzip data is damaged"},
      {"gzip_then_text", gzip(snapshot) + "hello", "data that is not gzip follows"},
      {"gzip_garbage", "\x1f\x8bgarbage of all kinds and more of it", "the gzip data is damaged"},
      {"empty", "", "the file is empty"},
      {"text", "hello\n", "is no kind of file that is known here"},
  };
}

constexpr std::uint64_t kTop = ~std::uint64_t{0};

std::vector<Case> entry_cases() {
  return {
      {"action_number", with("entry", "action", 5u), "key 'action' of a trace entry is not a string"},
      {"addr_string", with("entry", "addr", "0x10"), "key 'addr' of a trace entry is not a whole number"},
      {"addr_negative", with("entry", "addr", -1), "key 'addr' of a trace entry is not a whole number"},
      {"size_negative", with("entry", "size", -512), "key 'size' of a trace entry is not a whole number"},
      {"size_float", with("entry", "size", 1e30), "key 'size' of a trace entry is not a whole number"},
      {"size_null", with("entry", "size", nullptr), "key 'size' of a trace entry is not a whole number"},
      {"size_bool", with("entry", "size", true), "key 'size' of a trace entry is not a whole number"},
      {"size_missing", without("entry", "size"), "key 'size' of a trace entry is missing"},
      {"addr_missing", without("entry", "addr"), "key 'addr' of a trace entry is missing"},
      {"entry_wraps", with("entry", "size", kTop), "key 'size' of a trace entry reaches beyond 2^64"},
      {"time_string", with("entry", "time_us", "now"), "key 'time_us' of a trace entry"},
      {"time_unsigned", with("entry", "time_us", kTop), "key 'time_us' of a trace entry"},
      {"stream_string", with("entry", "stream", "0"), "key 'stream' of a trace entry"},
      {"pool_number", with("entry", "pool_id", 3u), "key 'pool_id' of a trace entry is not a pair"},
      {"pool_of_three", with("entry", "pool_id", Json::array({0u, 0u, 0u})), "key 'pool_id' of a trace entry is not"},
      {"pool_negative", with("entry", "pool_id", Json::array({0u, -1})),
       "key 'pool_id' of a trace entry is not a pair"},
      {"metadata_number", with("entry", "user_metadata", 3u), "key 'user_metadata' of a trace entry is not a string"},
      {"frames_string", with("entry", "frames", "main"), "key 'frames' of a trace entry is not a list of frames"},
      {"frames_of_numbers", with("entry", "frames", Json::array({1u})), "key 'frames' of a trace entry is not a list"},
      {"line_string", with("frame", "line", "12"), "key 'line' of a frame is not a whole number"},
      {"line_huge", with("frame", "line", kTop - 1), "key 'line' of a frame is not a whole number of 64 bits"},
      {"file_number", with("frame", "filename", 1u), "key 'filename' of a frame is not a string"},
  };
}

std::vector<Case> segment_cases() {
  Json wrapping_blocks = sample_snapshot();
  wrapping_blocks["segments"][0]["address"] = kTop - 4194304;
  wrapping_blocks["segments"][0]["blocks"] =
      Json::array({{{"size", 4194304u}, {"state", "inactive"}}, {{"size", 512u}, {"state", "inactive"}}});
  return {
      {"segment_address", with("segment", "address", "x"), "key 'address' of a segment is not a whole number"},
      {"segment_wraps", with("segment", "total_size", kTop), "key 'total_size' of a segment reaches beyond 2^64"},
      {"segment_type", with("segment", "segment_type", "medium"), "key 'segment_type' of a segment is neither"},
      {"segment_device", with("segment", "device", 1024u), "key 'device' of a segment is not a device number"},
      {"segment_device_low", with("segment", "device", -2), "key 'device' of a segment is not a device number"},
      {"segment_expandable", with("segment", "is_expandable", "yes"), "key 'is_expandable' of a segment is neither"},
      {"segment_blocks", with("segment", "blocks", 3u), "key 'blocks' of a segment is not a list of blocks"},
      {"segment_blocks_mixed", with("segment", "blocks", Json::array({sample_block(1, 512, "inactive"), 1u})),
       "key 'blocks' of a segment is not a list of blocks"},
      {"segment_size_missing", without("segment", "total_size"), "key 'total_size' of a segment is missing"},
      {"derived_wraps", to_pickle(wrapping_blocks), "key 'blocks' of a segment reaches beyond 2^64"},
      {"block_size", with("block", "size", -1), "key 'size' of a block is not a whole number"},
      {"block_wraps", with("block", "size", kTop), "key 'size' of a block reaches beyond 2^64"},
      {"block_state", with("block", "state", "asleep"), "key 'state' of a block is none of the states"},
      {"block_history", with("block", "history", Json::array({Json::array()})), "key 'history' of a block is not"},
  };
}

std::vector<Case> root_cases() {
  return {
      {"segments_number", with("root", "segments", 5u), "key 'segments' of the snapshot is not a list of segments"},
      {"segments_of_lists", with("root", "segments", Json::array({Json::array()})),
       "key 'segments' of the snapshot is"},
      {"traces_number", with("root", "device_traces", 5u), "key 'device_traces' of the snapshot is not a list"},
      {"traces_flat", with("root", "device_traces", Json::array({sample_entry("alloc", 1, 1)})), "key 'device_traces'"},
      {"traces_mixed", with("root", "device_traces", Json::array({Json::array({sample_entry("alloc", 1, 1), 7u})})),
       "key 'device_traces' of the snapshot is not a list"},
      {"settings_list", with("root", "allocator_settings", Json::array({1u})),
       "key 'allocator_settings' of the snapshot"},
      {"settings_type", with("settings", "max_split_size", "big"), "key 'max_split_size' of a settings dict"},
      {"settings_conf", with("settings", "PYTORCH_CUDA_ALLOC_CONF", 1u), "key 'PYTORCH_CUDA_ALLOC_CONF' of a settings"},
      {"roundup_key", with("settings", "roundup_power2_divisions", {{"x", 1u}}), "key 'roundup_power2_divisions'"},
      {"host_traces", with("root", "host_traces", Json::array({5u})), "key 'host_traces' of the snapshot"},
      {"no_known_key", to_pickle({{"hello", 1u}}), "is no snapshot"},
      {"a_number", to_pickle(5u), "is no snapshot"},
      {"empty_dict", to_pickle(Json::object()), "is no snapshot"},
      {"json_number", "{\"segments\":1e400}", "no valid JSON"},
      {"json_negative_size", "{\"segments\":[{\"address\":1,\"total_size\":-1,\"blocks\":[]}]}", "key 'total_size'"},
      {"json_2_64", "{\"segments\":[{\"address\":18446744073709551616,\"total_size\":1,\"blocks\":[]}]}",
       "key 'address' of a segment is not a whole number"},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& some : {opcode_cases(), length_cases(), entry_cases(), segment_cases(), root_cases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

void expect_one_line(const std::string& path, const std::string& message, const std::string& rule) {
  EXPECT_TRUE(message.starts_with(path + ": at byte ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.find(rule), std::string::npos) << message;
}

class HostileFile : public ::testing::TestWithParam<Case> {};

TEST_P(HostileFile, EndsInOneLine) {
  const TempFile file(GetParam().content);
  const auto trace = stats::read_snapshot(file.path());
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::invalid);
  expect_one_line(file.path(), trace.error().message, GetParam().rule);
  const ChildOutcome outcome = read_in_child(file.path(), kMemory);
  ASSERT_TRUE(outcome.answered);
  EXPECT_EQ(outcome.message, trace.error().message);
}

INSTANTIATE_TEST_SUITE_P(Table, HostileFile, ::testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(HostileFiles, EveryTruncationIsRefused) {
  const Json small = {
      {"segments", Json::array({sample_segment(4096, Json::array({sample_block(4096, 512, "inactive")}))})},
      {"device_traces", Json::array({Json::array({sample_entry("alloc", 4096, 500)})})}};
  for (const std::string& whole : {to_pickle(small), to_pickle(small, {.protocol = 2, .frame = true}), small.dump(),
                                   gzip(to_pickle(small)), gzip(small.dump())}) {
    ASSERT_TRUE(stats::read_snapshot(TempFile(whole).path()));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const TempFile file(whole.substr(0, size));
      const auto trace = stats::read_snapshot(file.path());
      ASSERT_FALSE(trace) << "cut at " << size;
      expect_one_line(file.path(), trace.error().message, "");
    }
  }
}

TEST(HostileFiles, EveryChangedByteIsSurvived) {
  const std::string whole = to_pickle(sample_snapshot());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\xff', 'e', ']', '('}) {
      std::string changed = whole;
      changed[at] = value;
      const TempFile file(changed);
      const auto trace = stats::read_snapshot(file.path());
      if (!trace) expect_one_line(file.path(), trace.error().message, "");
    }
  }
}

TEST(HostileFiles, ControlCharactersAreNotRepeated) {
  const TempFile file(with("entry", "action", 5u), "\x1b[31mred\n");
  const auto trace = stats::read_snapshot(file.path());
  ASSERT_FALSE(trace);
  for (const char c : trace.error().message) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_NE(trace.error().message.find("[31mred: at byte "), std::string::npos) << trace.error().message;
}

}  // namespace
}  // namespace quarry::test
