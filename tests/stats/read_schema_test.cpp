// What the keys of a snapshot mean, over all ages of the schema.
#include <quarry/stats/read.h>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/snapshot_document.h"
#include "support/temp_file.h"

namespace quarry::test {
namespace {

using stats::Trace;

// Reads `document` as a pickle and as JSON, checks that both are the same trace, and returns it.
Trace read(const Json& document) {
  const TempFile pickle(to_pickle(document));
  const TempFile json(document.dump());
  auto trace = stats::read_snapshot(pickle.path());
  auto other = stats::read_snapshot(json.path());
  EXPECT_TRUE(trace) << trace.error().message;
  EXPECT_TRUE(other) << other.error().message;
  if (!trace || !other) return {};
  EXPECT_EQ(trace_text(*trace), trace_text(*other));
  EXPECT_EQ(trace->skipped_keys, other->skipped_keys);
  EXPECT_EQ(trace->skipped_names, other->skipped_names);
  return std::move(*trace);
}

TEST(ReadSchema, UnknownKeysAreSkippedAndCounted) {
  Json snapshot = sample_snapshot();
  snapshot["from_the_future"] = {{"nested", Json::array({1u, Json::array({2u}), {{"x", nullptr}}})}};
  for (Json& entry : snapshot["device_traces"][0]) entry["colour"] = "red";
  snapshot["segments"][0]["blocks"][0]["age"] = 1.5;
  snapshot["allocator_settings"]["novel"] = Json::object();
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.skipped_keys, 1u + 10u + 1u + 1u);
  EXPECT_EQ(trace.skipped_names, (std::vector<std::string>{"age", "colour", "from_the_future", "novel"}));
  EXPECT_EQ(trace.devices.at(0).entries.size(), 10u);
}

TEST(ReadSchema, UnknownActionsAreSkippedAndCounted) {
  Json snapshot = sample_snapshot();
  snapshot["device_traces"][0].push_back(sample_entry("annotate", 0, 0));
  snapshot["device_traces"].push_back(Json::array({{{"action", "teleport"}}}));
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.skipped_actions, 2u);
  EXPECT_EQ(trace.skipped_names, (std::vector<std::string>{"annotate", "teleport"}));
  EXPECT_EQ(trace.devices.at(0).entries.size(), 10u);
  EXPECT_EQ(trace.devices.at(1).entries.size(), 0u);
}

TEST(ReadSchema, AtMost64NamesAreListed) {
  Json snapshot = sample_snapshot();
  for (int i = 0; i < 100; ++i) snapshot["key" + std::to_string(i) + "\x1b[2J"] = 1u;
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.skipped_keys, 100u);
  EXPECT_EQ(trace.skipped_names.size(), 64u);
  EXPECT_EQ(trace.skipped_names.front(), "key0[2J");
}

TEST(ReadSchema, OptionalKeysAreKnown) {
  Json snapshot = sample_snapshot();
  Json& entry = snapshot["device_traces"][0][1];
  entry["internal_metadata"] = "x";
  entry["forward_frames"] = Json::array({"a", "b"});
  entry["category"] = "unknown";
  entry["frames"][0]["fx_node_op"] = "call_function";
  snapshot["allocator_settings"]["trace_alloc_overflowed"] = false;
  snapshot["allocator_settings"]["trace_alloc_max_entries"] = 100000u;
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.skipped_keys, 0u);
  EXPECT_EQ(trace.external_annotations, 1u);
}

TEST(ReadSchema, OldestSchema) {
  Json history = Json::array({{{"addr", 4096u}, {"real_size", 500u}, {"frames", Json::array({sample_frame("new", 1)})}},
                              {{"addr", 4096u}, {"real_size", 9u}, {"frames", Json::array()}}});
  const Json segment = {{"device", 0u},
                        {"address", 4096u},
                        {"total_size", 2097152u},
                        {"allocated_size", 512u},
                        {"active_size", 512u},
                        {"stream", 0u},
                        {"segment_type", "small"},
                        {"blocks", Json::array({{{"size", 512u}, {"state", "active_allocated"}, {"history", history}},
                                                {{"size", 2096640u}, {"state", "inactive"}}})}};
  for (const Json& document : {Json::array({segment}), Json({{"segments", Json::array({segment})}})}) {
    const Trace trace = read(document);
    EXPECT_TRUE(trace.block_addresses_derived);
    const auto& blocks = trace.devices.at(0).segments.at(0).blocks;
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].address, Address{4096});
    EXPECT_EQ(blocks[1].address, Address{4608});
    EXPECT_EQ(blocks[0].requested, Bytes{500});
    EXPECT_EQ(blocks[1].requested, Bytes{2096640});
    ASSERT_EQ(trace.stacks.at(blocks[0].stack).size(), 1u);
    EXPECT_EQ(trace.strings.at(trace.stacks.at(blocks[0].stack)[0].name), "new");
    EXPECT_EQ(trace.devices[0].segments[0].pool, stats::kUnknownPool);
    EXPECT_FALSE(trace.settings.present);
  }
}

TEST(ReadSchema, SegmentsGoToTheirDevices) {
  Json snapshot = sample_snapshot();
  snapshot["segments"][0]["device"] = 2u;
  Json host = sample_segment(0x1000, Json::array({sample_block(0x1000, 512, "inactive")}));
  host["device"] = -1;
  snapshot["segments"].push_back(host);
  snapshot["host_segments"] = Json::array({host, host});
  snapshot["host_traces"] = Json::array({sample_entry("alloc", 16, 16), sample_entry("annotate", 0, 0)});
  const Trace trace = read(snapshot);
  ASSERT_EQ(trace.devices.size(), 3u);
  EXPECT_EQ(trace.devices[0].segments.size(), 1u);
  EXPECT_EQ(trace.devices[1].segments.size(), 0u);
  EXPECT_EQ(trace.devices[2].segments.size(), 1u);
  EXPECT_EQ(trace.host_segments, 3u);
  EXPECT_EQ(trace.host_entries, 2u);
}

TEST(ReadSchema, StatesAndTheirOldName) {
  Json blocks = Json::array();
  std::uint64_t address = 4096;
  for (const char* state : {"active_allocated", "active_pending_free", "active_awaiting_free", "inactive"}) {
    blocks.push_back(sample_block(address, 512, state));
    address += 512;
  }
  const Trace trace = read({{"segments", Json::array({sample_segment(4096, blocks)})}});
  std::vector<BlockState> states;
  for (const auto& block : trace.devices.at(0).segments.at(0).blocks) states.push_back(block.state);
  EXPECT_EQ(states,
            (std::vector<BlockState>{BlockState::live, BlockState::pending, BlockState::pending, BlockState::free}));
}

TEST(ReadSchema, LineOfMinusOneInAllItsForms) {
  Json frames = Json::array({sample_frame("a", -1), sample_frame("b", 7), sample_frame("c", 0)});
  frames[2]["line"] = ~std::uint64_t{0};
  frames.push_back({{"filename", "nowhere.py"}});
  Json snapshot = sample_snapshot();
  snapshot["device_traces"][0][0]["frames"] = frames;
  const Trace trace = read(snapshot);
  const auto stack = trace.stacks.at(trace.devices.at(0).entries.at(0).stack);
  ASSERT_EQ(stack.size(), 4u);
  EXPECT_EQ(stack[0].line, -1);
  EXPECT_EQ(stack[1].line, 7);
  EXPECT_EQ(stack[2].line, -1);
  EXPECT_EQ(stack[3].line, -1);
  EXPECT_EQ(trace.strings.at(stack[3].name), "");
}

TEST(ReadSchema, PoolsAreNumberedOnceAndUnknownWhenAbsent) {
  Json snapshot = sample_snapshot();
  snapshot["device_traces"][0][0].erase("pool_id");
  snapshot["device_traces"][0][1]["pool_id"] = nullptr;
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.pools.size(), 2u);
  EXPECT_EQ(trace.devices[0].entries[0].pool, stats::kUnknownPool);
  EXPECT_EQ(trace.devices[0].entries[1].pool, stats::kUnknownPool);
  EXPECT_EQ(trace.pools.at(static_cast<std::size_t>(trace.devices[0].entries[9].pool)), (PoolId{0, 7}));
}

TEST(ReadSchema, MetadataThatIsAnObjectIsSkipped) {
  Json snapshot = sample_snapshot();
  snapshot["device_traces"][0][1]["user_metadata"] = {{"action", 5u}, {"state", "odd"}};
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.skipped_names, (std::vector<std::string>{"user_metadata"}));
  EXPECT_EQ(trace.devices.at(0).entries.size(), 10u);
}

TEST(ReadSchema, AnnotationsMayHoldAnything) {
  Json snapshot = sample_snapshot();
  snapshot["external_annotations"] = Json::array({{{"name", "a"}, {"stage", "END"}, {"time_us", 5u}}, {{"size", "x"}}});
  EXPECT_EQ(read(snapshot).external_annotations, 2u);
  snapshot["external_annotations"] = Json::array({{{"name", "a"}, {"state", "what"}}});
  EXPECT_EQ(read(snapshot).devices.size(), 1u);
}

TEST(ReadSchema, InconsistentSizesLoad) {
  Json snapshot = sample_snapshot();
  snapshot["segments"][0]["total_size"] = 7u;
  snapshot["segments"][1]["allocated_size"] = 1u << 30;
  EXPECT_EQ(read(snapshot).devices.at(0).segments.size(), 2u);
}

TEST(ReadSchema, MinimalFiles) {
  EXPECT_EQ(read(Json::array()).devices.size(), 0u);
  EXPECT_EQ(read({{"segments", Json::array()}}).devices.size(), 0u);
  EXPECT_EQ(read({{"segments", Json::array()}, {"device_traces", Json::array({Json::array(), Json::array()})}})
                .devices.size(),
            2u);
}

TEST(ReadSchema, NegativeAndLargeStreamsKeepTheirBits) {
  Json snapshot = sample_snapshot();
  snapshot["device_traces"][0][0]["stream"] = -2;
  snapshot["device_traces"][0][1]["stream"] = ~std::uint64_t{0} - 1;
  const Trace trace = read(snapshot);
  EXPECT_EQ(trace.devices[0].entries[0].stream, ~std::uint64_t{0} - 1);
  EXPECT_EQ(trace.devices[0].entries[1].stream, ~std::uint64_t{0} - 1);
}

TEST(ReadSchema, AddressesUpTo64BitsAreRead) {
  Json snapshot = sample_snapshot();
  snapshot["device_traces"][0][1]["addr"] = 0xffffffffffff0000u;
  EXPECT_EQ(read(snapshot).devices[0].entries[1].address, Address{0xffffffffffff0000u});
}

}  // namespace
}  // namespace quarry::test
