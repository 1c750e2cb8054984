// A trace as the nested lists and dicts of a PyTorch snapshot, for any sink that can write those. Keys and their order
// are upstream's (reference/snapshot_format.md section 2); what the trace does not know is left out.
#pragma once

#include <string>
#include <string_view>

#include <quarry/stats/trace.h>

namespace quarry::stats::formats {

template <class Sink>
class SnapshotEmitter {
 public:
  SnapshotEmitter(const Trace& trace, Sink& sink) : trace_(trace), sink_(sink) {}

  void emit() {
    sink_.begin_dict();
    sink_.key("segments");
    sink_.begin_list();
    for (std::size_t device = 0; device < trace_.devices.size(); ++device) {
      for (const TraceSegment& segment : trace_.devices[device].segments) emit(segment, device);
    }
    sink_.end_list();
    sink_.key("device_traces");
    sink_.begin_list();
    for (const DeviceTrace& device : trace_.devices) {
      sink_.begin_list();
      for (const TraceEntry& entry : device.entries) emit(entry);
      sink_.end_list();
    }
    sink_.end_list();
    if (trace_.settings.present) emit(trace_.settings);
    sink_.key("external_annotations");
    sink_.begin_list();
    sink_.end_list();
    sink_.end_dict();
  }

 private:
  void number(std::string_view key, std::uint64_t value) {
    sink_.key(key);
    sink_.number(value);
  }
  void text(std::string_view key, std::string_view value) {
    sink_.key(key);
    sink_.text(value);
  }
  void pool(std::string_view key, PoolIndex index) {
    if (index == kUnknownPool) return;
    const PoolId id = trace_.pools[static_cast<std::size_t>(index)];
    sink_.key(key);
    sink_.pair(id.first, id.second);
  }

  void emit(const TraceSegment& segment, std::size_t device) {
    sink_.begin_dict();
    number("device", device);
    number("address", segment.address.value);
    number("total_size", segment.total_size.count);
    number("allocated_size", segment.allocated_size.count);
    number("active_size", segment.active_size.count);
    number("requested_size", segment.requested_size.count);
    number("stream", segment.stream);
    text("segment_type", segment.size_class == SizeClass::small ? "small" : "large");
    pool("segment_pool_id", segment.pool);
    sink_.key("is_expandable");
    sink_.boolean(segment.expandable);
    frames(segment.stack);
    sink_.key("blocks");
    sink_.begin_list();
    for (const TraceBlock& block : segment.blocks) emit(block);
    sink_.end_list();
    sink_.end_dict();
  }

  void emit(const TraceBlock& block) {
    sink_.begin_dict();
    number("address", block.address.value);
    number("size", block.size.count);
    number("requested_size", block.requested.count);
    text("state", state_name(block.state));
    frames(block.stack);
    sink_.end_dict();
  }

  static std::string_view state_name(BlockState state) {
    if (state == BlockState::live) return "active_allocated";
    return state == BlockState::pending ? "active_pending_free" : "inactive";
  }

  void emit(const TraceEntry& entry) {
    sink_.begin_dict();
    text("action", action_name(entry.action));
    if (entry.action == TraceAction::oom) {
      number("device_free", entry.device_free.count);
    } else {
      number("addr", entry.address.value);
    }
    number("size", entry.size.count);
    number("stream", entry.stream);
    if (entry.time_us >= 0) number("time_us", static_cast<std::uint64_t>(entry.time_us));
    if (entry.compile_context != StringId{}) text("compile_context", trace_.strings.at(entry.compile_context));
    if (entry.user_metadata != StringId{}) text("user_metadata", trace_.strings.at(entry.user_metadata));
    pool("pool_id", entry.pool);
    if (entry.stack != StackId{}) frames(entry.stack);
    sink_.end_dict();
  }

  void frames(StackId stack) {
    sink_.key("frames");
    if (sink_.shared(stack)) return;
    sink_.begin_list();
    for (const Frame& frame : trace_.stacks.at(stack)) {
      sink_.begin_dict();
      text("name", trace_.strings.at(frame.name));
      text("filename", trace_.strings.at(frame.file));
      sink_.key("line");
      sink_.integer(frame.line);
      sink_.end_dict();
    }
    sink_.end_list();
    sink_.share(stack);
  }

  void emit(const TraceSettings& settings) {
    sink_.key("allocator_settings");
    sink_.begin_dict();
    text("PYTORCH_CUDA_ALLOC_CONF", settings.conf);
    sink_.key("max_split_size");
    sink_.integer(settings.max_split_size);
    sink_.key("garbage_collection_threshold");
    sink_.real(settings.garbage_collection_threshold);
    sink_.key("expandable_segments");
    sink_.boolean(settings.expandable_segments);
    sink_.key("roundup_power2_divisions");
    sink_.begin_dict();
    for (const auto& [interval, divisions] : settings.roundup_power2_divisions) {
      number(std::to_string(interval), divisions);
    }
    sink_.end_dict();
    sink_.end_dict();
  }

  const Trace& trace_;
  Sink& sink_;
};

}  // namespace quarry::stats::formats
