#include <quarry/stats/formats/record_reader.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace quarry::stats::formats {
namespace {

constexpr std::size_t kSkippedNames = 64;
constexpr std::uint64_t kLargestSmallSegment = 2 << 20;

bool is_container(Value value) { return value.tag() > Tag::handle; }

}  // namespace

RecordReader::RecordReader(Trace& trace, Values& values, ListPool& lists)
    : trace_(trace), values_(values), lists_(lists) {
  for (const std::string_view name : kKeyNames) trace_.strings.intern(name);
  first_action_ = StringId{static_cast<std::uint32_t>(trace_.strings.size())};
  for (std::size_t i = 0; i < kTraceActions; ++i) trace_.strings.intern(action_name(static_cast<TraceAction>(i)));
}

Value RecordReader::read(std::span<const Value> pairs, std::uint64_t offset) {
  const bool unique = fields_.load(pairs);
  // From the most to the least telling key. A dict with none of them is nobody's record.
  static constexpr struct {
    Key mark;
    KeySet known;
    const char* record;
    Value (RecordReader::*read)(std::uint64_t);
  } kRecords[] = {
      {Key::filename, kFrameKeys, "frame", &RecordReader::frame},
      {Key::action, kEntryKeys, "trace entry", &RecordReader::entry},
      {Key::blocks, kSegmentKeys, "segment", &RecordReader::segment},
      {Key::state, kBlockKeys, "block", &RecordReader::block},
      {Key::real_size, kHistoryKeys, "history item", &RecordReader::history},
  };
  for (const auto& record : kRecords) {
    if (!fields_.has(record.mark)) continue;
    if (!unique) {
      FieldReader in(fields_, values_, record.record);
      in.fail(fields_.twice(), "stands there twice");
      return fault(in, offset);
    }
    for (const Key inner : {Key::frames, Key::blocks, Key::history}) {
      if (fields_.has(inner) && fields_[inner].tag() == Tag::fault) return fields_[inner];
    }
    const Value result = (this->*record.read)(offset);
    const bool unknown = fields_.other_keys() || (fields_.seen() & ~record.known) != 0;
    if (unknown && result.tag() != Tag::fault) count_skipped(pairs, record.known);
    return result;
  }
  return {Tag::opaque};
}

Value RecordReader::fault(const FieldReader& in, std::uint64_t offset) {
  values_.faults.push_back(in.fault(offset));
  return {Tag::fault, values_.faults.size() - 1};
}

void RecordReader::count_skipped(std::span<const Value> pairs, KeySet known) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::uint64_t number = pairs[i].payload() - 1;
    const bool text = pairs[i].tag() == Tag::string;
    if (text && number < kKeyNames.size() && (known >> number & 1) != 0) continue;
    ++trace_.skipped_keys;
    note_skipped(text ? StringId{pairs[i].index()} : trace_.strings.intern("(not a string)"));
  }
}

void RecordReader::note_skipped(StringId name) {
  if (skipped_names_.size() == kSkippedNames) return;
  if (std::find(skipped_names_.begin(), skipped_names_.end(), name) == skipped_names_.end()) {
    skipped_names_.push_back(name);
  }
}

Value RecordReader::frame(std::uint64_t offset) {
  FieldReader in(fields_, values_, "frame");
  Frame frame;
  frame.name = in.text(Key::name);
  frame.file = in.text(Key::filename);
  if (fields_.has(Key::line)) {
    // Some writers cast an unknown line, -1, to unsigned.
    const bool unknown = fields_[Key::line].tag() == Tag::none || in.bits(Key::line) == ~std::uint64_t{0};
    frame.line = unknown ? -1 : in.integer(Key::line, -1);
  }
  if (in.failed()) return fault(in, offset);
  const auto next = static_cast<std::uint32_t>(frames_.size());
  const auto same = [&](std::uint32_t id) { return frames_[id] == frame; };
  const std::uint32_t id = frame_index_.find_or_add(frame_index_.hash(&frame, sizeof frame), next, same);
  if (id == next) frames_.push_back(frame);
  return {Tag::frame, id};
}

Value RecordReader::entry(std::uint64_t offset) {
  FieldReader in(fields_, values_, "trace entry");
  const StringId name = in.text(Key::action, true);
  if (in.failed()) return fault(in, offset);
  const std::uint32_t action = static_cast<std::uint32_t>(name) - static_cast<std::uint32_t>(first_action_);
  if (action >= kTraceActions) {
    ++trace_.skipped_actions;
    note_skipped(name);
    return {Tag::skipped_entry};
  }
  TraceEntry& entry = scratch.entry;
  entry = {};
  entry.action = static_cast<TraceAction>(action);
  const bool placed = entry.action != TraceAction::oom && entry.action != TraceAction::snapshot;
  if (placed) {
    entry.address = {in.required_count(Key::addr)};
    entry.size = {in.required_count(Key::size)};
    in.fits(Key::size, entry.address, entry.size);
  } else {
    entry.size = {in.count(Key::size)};
    entry.device_free = {in.count(Key::device_free)};
  }
  entry.time_us = in.integer(Key::time_us, -1);
  entry.stream = in.bits(Key::stream);
  entry.pool = pool(in, Key::pool_id);
  entry.stack = in.stack(Key::frames);
  entry_texts(in);
  return in.failed() ? fault(in, offset) : Value{Tag::entry};
}

void RecordReader::entry_texts(FieldReader& in) {
  scratch.entry.compile_context = in.text(Key::compile_context);
  if (fields_.has(Key::user_metadata) && is_container(fields_[Key::user_metadata])) {
    ++trace_.skipped_keys;  // the viewer takes an object here; the model keeps text only
    note_skipped(StringId{static_cast<std::uint32_t>(Key::user_metadata) + 1});
    return;
  }
  scratch.entry.user_metadata = in.text(Key::user_metadata);
}

PoolIndex RecordReader::pool(FieldReader& in, Key key) {
  if (!fields_.has(key) || fields_[key].tag() == Tag::none) return kUnknownPool;
  if (fields_[key].tag() != Tag::pair) {
    in.fail(key, "is not a pair of whole numbers");
    return kUnknownPool;
  }
  const PoolId id = values_.pairs[fields_[key].index()];
  if (id == last_pool_ && last_pool_index_ != kUnknownPool) return last_pool_index_;
  const auto next = static_cast<std::uint32_t>(trace_.pools.size());
  if (next == static_cast<std::uint32_t>(kUnknownPool)) {
    in.fail(key, "is one pool too many: 65535 are read");
    return kUnknownPool;
  }
  const auto same = [&](std::uint32_t index) { return trace_.pools[index] == id; };
  const std::uint32_t index = pool_index_.find_or_add(pool_index_.hash(&id, sizeof id), next, same);
  if (index == next) trace_.pools.push_back(id);
  last_pool_ = id;
  return last_pool_index_ = PoolIndex{static_cast<std::uint16_t>(index)};
}

// The list of `kind` that the value of `key` is; null if it is absent or empty.
ListState* RecordReader::items(FieldReader& in, Key key, ListKind kind, const char* rule) {
  if (!fields_.has(key)) return nullptr;
  const Value value = fields_[key];
  if (value.tag() == Tag::empty_list || value.tag() == Tag::none) return nullptr;
  if (value.tag() == Tag::items && lists_[value.index()].kind == kind) return &lists_[value.index()];
  in.fail(key, value.tag() == Tag::taken ? "is used by something else too" : rule);
  return nullptr;
}

Value RecordReader::segment(std::uint64_t offset) {
  FieldReader in(fields_, values_, "segment");
  scratch.segment = {};
  TraceSegment& segment = scratch.segment.segment;
  segment.address = {in.required_count(Key::address)};
  segment.total_size = {in.required_count(Key::total_size)};
  in.fits(Key::total_size, segment.address, segment.total_size);
  segment.allocated_size = {in.count(Key::allocated_size)};
  segment.active_size = {in.count(Key::active_size)};
  segment.requested_size = {in.count(Key::requested_size)};
  segment.stream = in.bits(Key::stream);
  segment.size_class = size_class(in, segment.total_size);
  segment.expandable = in.boolean(Key::is_expandable);
  segment.pool = pool(in, Key::segment_pool_id);
  segment.stack = in.stack(Key::frames);
  scratch.segment.device = in.integer(Key::device, 0);
  if (scratch.segment.device < -1 || scratch.segment.device > kMaxDevice) {
    in.fail(Key::device, "is not a device number from -1 (host) to 1023");
  }
  segment_blocks(in);
  return in.failed() ? fault(in, offset) : Value{Tag::segment};
}

SizeClass RecordReader::size_class(FieldReader& in, Bytes total_size) {
  const std::string_view name = trace_.strings.at(in.text(Key::segment_type));
  if (name == "small") return SizeClass::small;
  if (name == "large") return SizeClass::large;
  if (!name.empty()) in.fail(Key::segment_type, "is neither 'small' nor 'large'");
  return total_size.count > kLargestSmallSegment ? SizeClass::large : SizeClass::small;
}

void RecordReader::segment_blocks(FieldReader& in) {
  ListState* list = items(in, Key::blocks, ListKind::blocks, "is not a list of blocks");
  if (list == nullptr || in.failed()) return;
  TraceSegment& segment = scratch.segment.segment;
  segment.blocks = std::move(std::get<std::vector<TraceBlock>>(list->items));
  segment.blocks.shrink_to_fit();
  *list = {};
  lists_.release(fields_[Key::blocks].index());
  Address end = segment.address;
  for (TraceBlock& block : segment.blocks) {
    if (block.address == Address{}) {  // the oldest files list sizes only
      block.address = end;
      in.fits(Key::blocks, end, block.size);
      trace_.block_addresses_derived = true;
    }
    end = block.address + block.size;
  }
}

Value RecordReader::block(std::uint64_t offset) {
  FieldReader in(fields_, values_, "block");
  TraceBlock& block = scratch.block;
  block = {};
  block.address = {in.count(Key::address)};
  block.size = {in.required_count(Key::size)};
  in.fits(Key::size, block.address, block.size);
  block.state = block_state(in);
  const History history = block_history(in);
  const bool has_history = fields_.has(Key::history) && fields_[Key::history].tag() == Tag::items;
  block.requested = {in.count(Key::requested_size, has_history ? history.requested.count : block.size.count)};
  block.stack = fields_.has(Key::frames) ? in.stack(Key::frames) : history.stack;
  return in.failed() ? fault(in, offset) : Value{Tag::block};
}

BlockState RecordReader::block_state(FieldReader& in) {
  const std::string_view name = trace_.strings.at(in.text(Key::state));
  if (name == "active_allocated") return BlockState::live;
  if (name == "active_pending_free" || name == "active_awaiting_free") return BlockState::pending;
  if (name != "inactive") in.fail(Key::state, "is none of the states active_allocated, active_pending_free, inactive");
  return BlockState::free;
}

History RecordReader::block_history(FieldReader& in) {
  ListState* list = items(in, Key::history, ListKind::histories, "is not a list of history items");
  if (list == nullptr) return {};
  const History newest = std::get<History>(list->items);
  *list = {};
  lists_.release(fields_[Key::history].index());
  return newest;
}

Value RecordReader::history(std::uint64_t offset) {
  FieldReader in(fields_, values_, "history item");
  in.count(Key::addr);
  scratch.history = {{in.required_count(Key::real_size)}, in.stack(Key::frames)};
  return in.failed() ? fault(in, offset) : Value{Tag::history};
}

}  // namespace quarry::stats::formats
