#include <quarry/stats/recorder.h>

#include <chrono>
#include <new>
#include <string>

namespace quarry::stats {
namespace {

TraceAction trace_action(Action action) {
  switch (action) {
    case Action::alloc:
      return TraceAction::alloc;
    case Action::free_requested:
      return TraceAction::free_requested;
    case Action::free_completed:
      return TraceAction::free_completed;
    case Action::segment_alloc:
      return TraceAction::segment_alloc;
    case Action::segment_free:
      return TraceAction::segment_free;
    case Action::segment_map:
      return TraceAction::segment_map;
    case Action::segment_unmap:
      return TraceAction::segment_unmap;
    case Action::oom:
      return TraceAction::oom;
  }
  return TraceAction::snapshot;
}

std::uint64_t native_handle(const Snapshot& snapshot, StreamId stream) {
  const auto number = static_cast<std::size_t>(stream);
  return number < snapshot.streams.size() ? snapshot.streams[number] : 0;
}

TraceEntry make_entry(Trace& trace, const Snapshot& snapshot, const Record& record, std::int64_t time_us) {
  TraceEntry entry;
  entry.address = record.address;
  entry.size = record.size;
  entry.time_us = time_us;
  entry.stream = native_handle(snapshot, record.stream);
  entry.device_free = record.device_free;
  entry.pool = trace.pool_index(record.pool);
  entry.action = trace_action(record.action);
  if (record.tag != Tag{}) {
    entry.user_metadata = trace.strings.intern("tag " + std::to_string(static_cast<std::uint32_t>(record.tag)));
  }
  return entry;
}

TraceSegment make_segment(Trace& trace, const Snapshot& snapshot, const SegmentView& view) {
  TraceSegment segment;
  segment.address = view.address;
  segment.total_size = view.size;
  segment.stream = native_handle(snapshot, view.stream);
  segment.size_class = view.size_class;
  segment.expandable = view.expandable;
  segment.pool = trace.pool_index(view.pool);
  for (const BlockView& block : view.blocks) {
    segment.blocks.push_back({block.address, block.size, block.requested, block.state, StackId{}});
    if (block.state == BlockState::free) continue;
    segment.active_size += block.size;
    segment.requested_size += block.requested;
    if (block.state == BlockState::live) segment.allocated_size += block.size;
  }
  return segment;
}

// What differs from the default, as an option string.
TraceSettings settings_of(const Options& options) {
  TraceSettings settings;
  settings.present = true;
  settings.conf = option_string(options);
  if (options.max_split_size != kUnlimited) {
    settings.max_split_size = static_cast<std::int64_t>(options.max_split_size.count);
  }
  for (std::size_t i = 0; i < options.roundup_power2_divisions.size(); ++i) {
    settings.roundup_power2_divisions.emplace_back(1ull << i, options.roundup_power2_divisions[i]);
  }
  return settings;
}

}  // namespace

void Recorder::on_record(const Record& record) noexcept {
  using std::chrono::microseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  try {
    records_.push_back({record, std::chrono::duration_cast<microseconds>(now).count()});
  } catch (const std::bad_alloc&) {
    std::vector<Timed>().swap(records_);
  }
}

std::size_t Recorder::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

Trace Recorder::trace(const Allocator& allocator) const {
  const Snapshot snapshot = allocator.snapshot();  // before the lock: it takes the heap lock
  Trace trace;
  DeviceTrace& device = trace.devices.emplace_back();
  for (const SegmentView& view : snapshot.segments) {
    device.segments.push_back(make_segment(trace, snapshot, view));
  }
  trace.settings = settings_of(allocator.options());
  const std::lock_guard lock(mutex_);
  device.entries.reserve(records_.size());
  for (const Timed& timed : records_) {
    if (timed.record.sequence > snapshot.sequence) break;
    device.entries.push_back(make_entry(trace, snapshot, timed.record, timed.time_us));
  }
  return trace;
}

}  // namespace quarry::stats
