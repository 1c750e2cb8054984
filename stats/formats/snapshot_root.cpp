// The top level of a snapshot: what SnapshotBuilder does once the whole file has been read.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <quarry/stats/formats/snapshot_builder.h>

namespace quarry::stats::formats {

bool SnapshotBuilder::finish(Value root) {
  bool read = false;
  if (root.tag() == Tag::handle && objects_[root.index()].tag() == Tag::open_dict) {
    const Value object = objects_[root.index()];
    read = object.payload() != 0 && read_root(dicts_[object.index() - 1]);
  } else {
    const Value settled = settle(root);
    const bool list = settled.tag() == Tag::empty_list || settled.tag() == Tag::fault ||
                      (settled.tag() == Tag::items && lists_[settled.index()].kind == ListKind::segments);
    read = list && read_segments(settled, Key::segments);  // memory_snapshot() of old: the bare list
  }
  if (!read) {
    return failure_.at(offset,
                       "is no snapshot: neither a dict with 'segments' or 'device_traces' nor a list of segments");
  }
  sort_segments();
  name_skipped();
  return true;
}

bool SnapshotBuilder::read_root(std::span<const Value> pairs) {
  Fields fields;
  if (!fields.load(pairs)) {
    return failure_.at(offset, fmt::format("key '{}' of the snapshot stands there twice", key_name(fields.twice())));
  }
  if (!fields.has(Key::segments) && !fields.has(Key::device_traces)) return false;
  records_.count_skipped(pairs, kRootKeys);
  const auto value = [&](Key key) { return fields.has(key) ? fields[key] : Value{Tag::none}; };
  return read_device_traces(value(Key::device_traces)) && read_segments(value(Key::segments), Key::segments) &&
         read_settings(value(Key::allocator_settings)) &&
         count_items(value(Key::host_segments), Key::host_segments, ListKind::segments, trace_.host_segments) &&
         count_items(value(Key::host_traces), Key::host_traces, ListKind::entries, trace_.host_entries) &&
         count_annotations(value(Key::external_annotations));
}

bool SnapshotBuilder::fail_root(Key key, Value value, const char* rule) {
  if (value.tag() == Tag::fault) {
    const Fault& fault = values.faults[value.index()];
    return failure_.at(fault.offset, fault_text(fault));
  }
  if (value.tag() == Tag::taken) rule = "is used by something else too";
  return failure_.at(offset, fmt::format("key '{}' of the snapshot {}", key_name(key), rule));
}

bool SnapshotBuilder::read_segments(Value value, Key key) {
  if (value.tag() == Tag::empty_list || value.tag() == Tag::none) return true;
  if (value.tag() != Tag::items || lists_[value.index()].kind != ListKind::segments) {
    return fail_root(key, value, "is not a list of segments");
  }
  for (ParsedSegment& parsed : std::get<std::vector<ParsedSegment>>(lists_[value.index()].items)) {
    if (parsed.device < 0) {
      ++trace_.host_segments;
      continue;
    }
    const auto device = static_cast<std::size_t>(parsed.device);
    if (device >= trace_.devices.size()) trace_.devices.resize(device + 1);
    trace_.devices[device].segments.push_back(std::move(parsed.segment));
  }
  lists_[value.index()] = {};
  return true;
}

bool SnapshotBuilder::read_device_traces(Value value) {
  if (value.tag() == Tag::empty_list || value.tag() == Tag::none) return true;
  if (value.tag() != Tag::items || lists_[value.index()].kind != ListKind::lists) {
    return fail_root(Key::device_traces, value, "is not a list with a list of trace entries for each device");
  }
  const auto& devices = std::get<std::vector<std::uint32_t>>(lists_[value.index()].items);
  if (devices.size() > static_cast<std::size_t>(kMaxDevice) + 1) {
    return fail_root(Key::device_traces, value, "has more than 1024 devices");
  }
  trace_.devices.resize(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == kNoStorage) continue;
    trace_.devices[i].entries = std::move(std::get<std::vector<TraceEntry>>(lists_[devices[i]].items));
  }
  return true;
}

bool SnapshotBuilder::count_items(Value value, Key key, ListKind kind, std::uint64_t& counted) {
  if (value.tag() == Tag::none || value.tag() == Tag::empty_list) return true;
  if (value.tag() != Tag::items || lists_[value.index()].kind != kind)
    return fail_root(key, value, "is not such a list");
  counted += lists_[value.index()].count;
  return true;
}

// Annotations may hold anything, so what looks like a broken record is none.
bool SnapshotBuilder::count_annotations(Value value) {
  switch (value.tag()) {
    case Tag::opaque:
      trace_.external_annotations = value.payload();
      return true;
    case Tag::items:
      trace_.external_annotations = lists_[value.index()].count;
      return true;
    case Tag::none:
    case Tag::empty_list:
    case Tag::stack:
    case Tag::fault:
      return true;
    default:
      return fail_root(Key::external_annotations, value, "is not a list");
  }
}

bool SnapshotBuilder::read_settings(Value value) {
  if (value.tag() == Tag::none) return true;
  if (value.tag() != Tag::raw_dict) return fail_root(Key::allocator_settings, value, "is not a dict");
  const std::vector<Value>& pairs = dicts_[value.index()];
  Fields fields;
  const bool unique = fields.load(pairs);
  FieldReader in(fields, values, "settings dict");
  if (!unique) in.fail(fields.twice(), "stands there twice");
  TraceSettings& settings = trace_.settings;
  settings.present = true;
  settings.conf = trace_.strings.at(in.text(Key::conf));
  settings.max_split_size = in.integer(Key::max_split_size, -1);
  settings.garbage_collection_threshold = in.real(Key::garbage_collection_threshold);
  settings.expandable_segments = in.boolean(Key::expandable_segments);
  records_.count_skipped(pairs, kSettingsKeys);
  if (in.failed()) return failure_.at(offset, fault_text(in.fault(offset)));
  return !fields.has(Key::roundup_power2_divisions) || read_roundup(fields[Key::roundup_power2_divisions]);
}

bool SnapshotBuilder::read_roundup(Value value) {
  if (value.tag() == Tag::none) return true;
  if (value.tag() != Tag::raw_dict) return fail_root(Key::roundup_power2_divisions, value, "is not a dict");
  const std::vector<Value>& pairs = dicts_[value.index()];
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    std::uint64_t interval = 0, divisions = 0;
    bool known = pairs[i].tag() == Tag::string && values.to_unsigned(pairs[i + 1], divisions);
    if (known) {
      const std::string_view text = trace_.strings.at(StringId{pairs[i].index()});
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), interval);
      known = code == std::errc{} && end == text.data() + text.size();
    }
    if (!known) return fail_root(Key::roundup_power2_divisions, value, "does not map MiB to whole numbers");
    trace_.settings.roundup_power2_divisions.emplace_back(interval, divisions);
  }
  return true;
}

void SnapshotBuilder::sort_segments() {
  for (DeviceTrace& device : trace_.devices) {
    std::stable_sort(device.segments.begin(), device.segments.end(),
                     [](const TraceSegment& a, const TraceSegment& b) { return a.address < b.address; });
  }
}

void SnapshotBuilder::name_skipped() {
  for (const StringId name : records_.skipped_names()) {
    trace_.skipped_names.push_back(printable(trace_.strings.at(name), 80));
  }
  std::sort(trace_.skipped_names.begin(), trace_.skipped_names.end());
}

}  // namespace quarry::stats::formats
