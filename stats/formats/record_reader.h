// The schema of PyTorch snapshots: turns the dict of a trace entry, segment, block, frame or history item into a typed
// record. What a dict is, its keys say. Pickle and JSON share it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <quarry/stats/formats/fields.h>
#include <quarry/stats/formats/list_store.h>
#include <quarry/stats/trace.h>

namespace quarry::stats::formats {

inline constexpr std::int64_t kMaxDevice = 1023;

class RecordReader {
 public:
  RecordReader(Trace& trace, Values& values, ListPool& lists);

  // What the dict with these settled values is: a tag whose record lies in `scratch`, a frame, skipped_entry, fault, or
  // opaque if the keys name no record.
  Value read(std::span<const Value> pairs, std::uint64_t offset);
  // Counts the keys outside `known`.
  void count_skipped(std::span<const Value> pairs, KeySet known);
  Value fault(const FieldReader& in, std::uint64_t offset);

  Scratch scratch;
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<StringId>& skipped_names() const { return skipped_names_; }

 private:
  Value frame(std::uint64_t offset);
  Value entry(std::uint64_t offset);
  void entry_texts(FieldReader& in);
  Value segment(std::uint64_t offset);
  void segment_blocks(FieldReader& in);
  SizeClass size_class(FieldReader& in, Bytes total_size);
  Value block(std::uint64_t offset);
  BlockState block_state(FieldReader& in);
  History block_history(FieldReader& in);
  Value history(std::uint64_t offset);
  PoolIndex pool(FieldReader& in, Key key);
  ListState* items(FieldReader& in, Key key, ListKind kind, const char* rule);
  void note_skipped(StringId name);

  Trace& trace_;
  Values& values_;
  ListPool& lists_;
  Fields fields_;
  std::vector<Frame> frames_;
  HashIndex frame_index_;
  HashIndex pool_index_;
  PoolId last_pool_{};
  PoolIndex last_pool_index_ = kUnknownPool;
  StringId first_action_{};
  std::vector<StringId> skipped_names_;
};

}  // namespace quarry::stats::formats
