// Puts a trace together from the events of a parser: values, lists and dicts in the order a pickle or JSON file has
// them. Holds typed records, interned strings and stacks, and containers that are still open; never the whole document.
//
// A container is settled when something else takes it: its dict becomes a record, its list a stack, a pool or a list of
// records. After that it can be referred to but no longer changed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <quarry/stats/formats/fields.h>
#include <quarry/stats/formats/grow_buffer.h>
#include <quarry/stats/formats/list_store.h>
#include <quarry/stats/formats/read_error.h>
#include <quarry/stats/formats/record_reader.h>
#include <quarry/stats/trace.h>

namespace quarry::stats::formats {

class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Failure& failure) : failure_(failure), records_(trace_, values, lists_) {}

  std::uint64_t offset = 0;  // of the parser, for messages
  Values values;             // makes numbers

  Value string(std::string_view text) { return {Tag::string, static_cast<std::uint32_t>(trace_.strings.intern(text))}; }
  Value new_dict() { return new_object(Tag::open_dict); }
  Value new_list() { return new_object(Tag::open_list); }
  // Key, value, key, value...; settles the values in place. False (and a failure) if `dict` is not an open dict.
  bool set_items(Value dict, std::span<Value> pairs);
  bool append(Value list, std::span<const Value> items);
  Value tuple(std::span<const Value> items);

  // Objects are numbered in order of creation. A parser that knows those from `count` on to be out of reach drops them.
  std::size_t objects() const { return objects_.size(); }
  void drop_objects(std::size_t count) {
    if (count < objects_.size()) objects_.truncate(count);
  }

  // Hostile files hold more of everything than their size explains. False (and a failure) if there are more than `free`
  // of `what` and more than one for each `bytes` bytes read.
  bool plausible(std::size_t count, std::size_t free, std::uint64_t bytes, const char* what);
  // The same for what the builder holds. Parsers ask now and then.
  bool plausible();

  // `root` is the whole file. Completes trace().
  bool finish(Value root);
  Trace& trace() { return trace_; }

 private:
  Value new_object(Tag tag) {
    objects_.push_back({tag, 0});
    return {Tag::handle, objects_.size() - 1};
  }
  Value settle(Value value, Value key = {Tag::none});
  Value settle_object(Value open, Value key);
  Value settle_list(Value open);
  Value settle_dict(Value open, Value key);

  bool read_root(std::span<const Value> pairs);
  bool read_segments(Value value, Key key);
  bool read_device_traces(Value value);
  bool read_settings(Value value);
  bool read_roundup(Value value);
  bool count_items(Value value, Key key, ListKind kind, std::uint64_t& counted);
  bool count_annotations(Value value);
  bool fail_root(Key key, Value value, const char* rule);
  void sort_segments();
  void name_skipped();

  Failure& failure_;
  Trace trace_;
  ListPool lists_;
  SlotPool<std::vector<Value>> dicts_;
  GrowBuffer<Value> objects_;
  RecordReader records_;
};

}  // namespace quarry::stats::formats
