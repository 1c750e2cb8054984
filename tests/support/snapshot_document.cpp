#include "support/snapshot_document.h"

#include <fmt/format.h>

namespace quarry::test {
namespace {

using stats::Trace;

std::string stack_text(const Trace& trace, stats::StackId id) {
  std::string text;
  for (const stats::Frame& frame : trace.stacks.at(id)) {
    text += fmt::format(" {}@{}:{}", trace.strings.at(frame.name), trace.strings.at(frame.file), frame.line);
  }
  return text;
}

std::string pool_text(const Trace& trace, stats::PoolIndex index) {
  if (index == stats::kUnknownPool) return "?";
  const PoolId id = trace.pools[static_cast<std::size_t>(index)];
  return fmt::format("{},{}", id.first, id.second);
}

std::string entry_text(const Trace& trace, const stats::TraceEntry& e) {
  return fmt::format("{} {:x} {} free {} stream {} at {} pool {} '{}' '{}'{}\n", stats::action_name(e.action),
                     e.address.value, e.size.count, e.device_free.count, e.stream, e.time_us, pool_text(trace, e.pool),
                     trace.strings.at(e.user_metadata), trace.strings.at(e.compile_context),
                     stack_text(trace, e.stack));
}

std::string segment_text(const Trace& trace, const stats::TraceSegment& s) {
  std::string text =
      fmt::format("segment {:x} {} {}/{}/{} stream {} class {} expandable {} pool {}{}\n", s.address.value,
                  s.total_size.count, s.allocated_size.count, s.active_size.count, s.requested_size.count, s.stream,
                  static_cast<int>(s.size_class), s.expandable, pool_text(trace, s.pool), stack_text(trace, s.stack));
  for (const stats::TraceBlock& b : s.blocks) {
    text += fmt::format("  block {:x} {} {} state {}{}\n", b.address.value, b.size.count, b.requested.count,
                        static_cast<int>(b.state), stack_text(trace, b.stack));
  }
  return text;
}

std::string settings_text(const stats::TraceSettings& s) {
  std::string text = fmt::format("settings {} '{}' {} {} {}", s.present, s.conf, s.max_split_size,
                                 s.garbage_collection_threshold, s.expandable_segments);
  for (const auto& [interval, divisions] : s.roundup_power2_divisions)
    text += fmt::format(" {}:{}", interval, divisions);
  return text + "\n";
}

}  // namespace

Json sample_frame(const std::string& name, std::int64_t line) {
  return {{"name", name}, {"filename", "train.py"}, {"line", line}};
}

Json sample_entry(const std::string& action, std::uint64_t address, std::uint64_t size) {
  return {{"action", action},
          {"addr", address},
          {"size", size},
          {"stream", 0u},
          {"time_us", 1796106437441054u},
          {"compile_context", "N/A"},
          {"user_metadata", ""},
          {"pool_id", Json::array({0u, 0u})},
          {"frames", Json::array({sample_frame("step", 12), sample_frame("main", 40)})}};
}

Json sample_block(std::uint64_t address, std::uint64_t size, const std::string& state) {
  return {{"address", address},
          {"size", size},
          {"requested_size", size - 12},
          {"state", state},
          {"frames", Json::array({sample_frame("block", 3)})}};
}

Json sample_segment(std::uint64_t address, Json blocks) {
  std::uint64_t total = 0;
  for (const Json& block : blocks) total += block["size"].get<std::uint64_t>();
  return {{"device", 0u},
          {"address", address},
          {"total_size", total},
          {"allocated_size", 512u},
          {"active_size", 512u},
          {"requested_size", 500u},
          {"stream", 0u},
          {"segment_type", total > 2097152 ? "large" : "small"},
          {"segment_pool_id", Json::array({0u, 0u})},
          {"is_expandable", false},
          {"frames", Json::array()},
          {"blocks", std::move(blocks)}};
}

Json sample_snapshot() {
  constexpr std::uint64_t kBase = 0x7f0000000000;
  Json entries = Json::array();
  for (const char* action : {"segment_alloc", "alloc", "free_requested", "free_completed", "segment_free",
                             "segment_map", "segment_unmap", "snapshot"}) {
    entries.push_back(sample_entry(action, kBase, 512));
  }
  Json oom = sample_entry("oom", 0, 4096);
  oom.erase("addr");
  oom["device_free"] = 1048576u;
  entries.push_back(oom);
  Json other_pool = sample_entry("alloc", kBase + 512, 100);
  other_pool["pool_id"] = Json::array({0u, 7u});
  other_pool["stream"] = 0x55d0c0ffee00u;
  other_pool.erase("frames");
  entries.push_back(other_pool);
  Json blocks =
      Json::array({sample_block(kBase, 512, "active_allocated"), sample_block(kBase + 512, 1024, "inactive")});
  Json later = Json::array({sample_block(kBase + 0x4000000, 4194304, "active_pending_free")});
  return {{"segments", Json::array({sample_segment(kBase + 0x4000000, later), sample_segment(kBase, blocks)})},
          {"device_traces", Json::array({entries})},
          {"allocator_settings",
           {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128"},
            {"max_split_size", 134217728u},
            {"garbage_collection_threshold", 0.5},
            {"expandable_segments", true},
            {"max_cached_size", -1},
            {"roundup_power2_divisions", {{"1", 0u}, {"32768", 8u}}}}},
          {"external_annotations", Json::array({{{"name", "step"}, {"stage", "START"}, {"device", 0u}}})},
          {"host_segments", Json::array()},
          {"host_traces", Json::array()}};
}

std::string trace_text(const Trace& trace) {
  std::string text = settings_text(trace.settings);
  for (const stats::DeviceTrace& device : trace.devices) {
    text += "device\n";
    for (const stats::TraceEntry& entry : device.entries) text += entry_text(trace, entry);
    for (const stats::TraceSegment& segment : device.segments) text += segment_text(trace, segment);
  }
  return text;
}

}  // namespace quarry::test
