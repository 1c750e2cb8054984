#include <quarry/stats/formats/snapshot_builder.h>

#include <fmt/format.h>

namespace quarry::stats::formats {
namespace {

bool in_scratch(Tag tag) {
  return tag == Tag::entry || tag == Tag::segment || tag == Tag::block || tag == Tag::history;
}

bool is_key(Value value, Key key) {
  return value.tag() == Tag::string && value.index() == static_cast<std::uint32_t>(key) + 1;
}

}  // namespace

bool SnapshotBuilder::set_items(Value dict, std::span<Value> pairs) {
  if (dict.tag() != Tag::handle || objects_[dict.index()].tag() != Tag::open_dict) {
    return failure_.at(offset, "sets an item of something that is not an open dict");
  }
  for (std::size_t i = 1; i < pairs.size(); i += 2) {
    if (pairs[i].tag() == Tag::handle && pairs[i].index() == dict.index()) {
      return failure_.at(offset, "puts a dict into itself");
    }
    pairs[i] = settle(pairs[i], pairs[i - 1]);
    if (in_scratch(pairs[i].tag())) pairs[i] = {Tag::opaque};  // only lists keep records
  }
  Value& object = objects_[dict.index()];
  if (object.payload() == 0) object = {Tag::open_dict, dicts_.acquire() + std::uint64_t{1}};
  std::vector<Value>& storage = dicts_[object.index() - 1];
  storage.insert(storage.end(), pairs.begin(), pairs.end());
  return true;
}

bool SnapshotBuilder::append(Value list, std::span<const Value> items) {
  if (list.tag() != Tag::handle || objects_[list.index()].tag() != Tag::open_list) {
    return failure_.at(offset, "appends to something that is not an open list");
  }
  if (items.empty()) return true;
  Value& object = objects_[list.index()];
  if (object.payload() == 0) object = {Tag::open_list, lists_.acquire() + std::uint64_t{1}};
  const std::uint32_t storage = object.index() - 1;
  for (const Value item : items) {
    // A list inside itself would be settled, and its storage gone, while it is being filled.
    if (item.tag() == Tag::handle && item.index() == list.index()) {
      return failure_.at(offset, "appends a list to itself");
    }
    append_item(lists_, lists_[storage], settle(item), records_.scratch, records_.frames());
  }
  return true;
}

bool SnapshotBuilder::plausible(std::size_t count, std::size_t free, std::uint64_t bytes, const char* what) {
  if (count < free || count < offset / bytes) return true;
  return failure_.at(offset, fmt::format("{} {}: more than a recording of this size has", count, what));
}

// Recordings have a trace entry for every 60 bytes or more, and a container for every 17.
bool SnapshotBuilder::plausible() {
  return plausible(objects_.size(), 1 << 20, 8, "containers") &&
         plausible(dicts_.in_use() + lists_.in_use(), 1 << 18, 24, "open containers") &&
         plausible(trace_.strings.size(), 1 << 18, 24, "different strings");
}

Value SnapshotBuilder::tuple(std::span<const Value> items) {
  if (items.size() == 2) {
    const Value pair = values.pair(items[0], items[1]);
    if (pair.tag() == Tag::pair) return pair;
  }
  for (const Value item : items) settle(item);
  return {Tag::opaque};
}

Value SnapshotBuilder::settle(Value value, Value key) {
  if (value.tag() != Tag::handle) return value;
  const std::uint32_t index = value.index();
  const Tag tag = objects_[index].tag();
  if (tag != Tag::open_dict && tag != Tag::open_list) return objects_[index];
  const Value settled = settle_object(objects_[index], key);
  const bool moved = in_scratch(settled.tag()) || settled.tag() == Tag::items;
  objects_[index] = moved ? Value{Tag::taken} : settled;
  return settled;
}

Value SnapshotBuilder::settle_object(Value open, Value key) {
  if (open.tag() == Tag::open_dict) return settle_dict(open, key);
  return open.payload() == 0 ? Value{Tag::empty_list} : settle_list(open);
}

Value SnapshotBuilder::settle_list(Value open) {
  const std::uint32_t storage = open.index() - 1;
  ListState& list = lists_[storage];
  Value settled{Tag::opaque, list.count};
  switch (list.kind) {
    case ListKind::frames:
      settled = {Tag::stack,
                 static_cast<std::uint32_t>(trace_.stacks.intern(std::get<std::vector<Frame>>(list.items)))};
      break;
    case ListKind::numbers: {
      const auto& numbers = std::get<std::array<Value, 2>>(list.items);
      if (list.count == 2) settled = values.pair(numbers[0], numbers[1]);
      break;
    }
    case ListKind::faulty:
      settled = std::get<Value>(list.items);
      break;
    case ListKind::mixed:
    case ListKind::empty:
      break;
    default:
      return {Tag::items, storage};
  }
  list = {};
  lists_.release(storage);
  return settled;
}

Value SnapshotBuilder::settle_dict(Value open, Value key) {
  const bool keep = is_key(key, Key::allocator_settings) || is_key(key, Key::roundup_power2_divisions);
  if (open.payload() == 0) return keep ? Value{Tag::raw_dict, dicts_.acquire()} : Value{Tag::opaque};
  const std::uint32_t storage = open.index() - 1;
  if (keep) return {Tag::raw_dict, storage};
  std::vector<Value>& pairs = dicts_[storage];
  const Value settled = records_.read(pairs, offset);
  pairs.clear();
  dicts_.release(storage);
  return settled;
}

}  // namespace quarry::stats::formats
