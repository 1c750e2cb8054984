#include "tools/replay/rewind.h"

#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <quarry/allocator/heap/pytorch_rules.h>

namespace quarry::tools {
namespace {

using stats::PoolIndex;
using stats::TraceAction;
using stats::TraceEntry;

constexpr std::size_t kMaxProblems = 4;

struct LiveBlock {
  Bytes size;  // as recorded, else the rounded request
  Bytes requested;
  bool pending = false;
  bool derived = false;  // only the request is known: a small leftover may belong to it
};

struct LiveSegment {
  Bytes size;
  std::uint64_t stream = 0;
  SizeClass size_class = SizeClass::small;
  PoolIndex pool = stats::kUnknownPool;
  bool expandable = false;  // a mapped run, not a segment of its own
};

using Segments = std::map<Address, LiveSegment>;
using Blocks = std::map<Address, LiveBlock>;

// Walks a trace from its end to its start. Every step undoes one entry and checks that it could have happened.
class Rewinder {
 public:
  Rewinder(const stats::Trace& trace, std::size_t device, const Options& recorded)
      : trace_(trace), device_(trace.devices[device]), recorded_(recorded) {}

  Rewound run();

 private:
  void number_streams();
  void number(std::uint64_t handle);
  void load_end();
  void undo(std::size_t index, const TraceEntry& entry);
  void undo_alloc(std::size_t index, const TraceEntry& entry);
  void learn_leftover(Blocks::iterator above);
  void undo_completed(std::size_t index, const TraceEntry& entry);
  void undo_requested(std::size_t index, const TraceEntry& entry);
  void undo_segment_alloc(std::size_t index, const TraceEntry& entry);
  void undo_segment_free(std::size_t index, const TraceEntry& entry);
  void undo_map(std::size_t index, const TraceEntry& entry);
  void undo_unmap(std::size_t index, const TraceEntry& entry);
  void join_run(Segments::iterator run);

  Segments::const_iterator segment_of(Address address) const;
  bool room_for(Address address, Bytes size) const;
  PoolId pool_id(PoolIndex pool) const;
  void note_pool(std::size_t index, const TraceEntry& entry);
  void miss(std::size_t index, const TraceEntry& entry, std::string_view what);

  void build();
  Bytes with_leftover(const LiveBlock& block, Bytes gap, SizeClass size_class) const;

  const stats::Trace& trace_;
  const stats::DeviceTrace& device_;
  const Options& recorded_;
  bool has_requests_ = false;  // free_requested was recorded at all
  Segments segments_;
  Blocks blocks_;
  std::unordered_map<std::uint64_t, StreamId> streams_;
  Rewound result_;
};

Rewound Rewinder::run() {
  number_streams();
  load_end();
  for (std::size_t i = device_.entries.size(); i-- > 0;) undo(i, device_.entries[i]);
  build();
  return std::move(result_);
}

void Rewinder::number(std::uint64_t handle) {
  const auto next = static_cast<StreamId>(result_.state.streams.size());
  if (streams_.emplace(handle, next).second) result_.state.streams.push_back(handle);
}

void Rewinder::number_streams() {
  number(0);
  for (const stats::TraceSegment& segment : device_.segments) number(segment.stream);
  for (const TraceEntry& entry : device_.entries) {
    if (entry.action != TraceAction::snapshot) number(entry.stream);
    has_requests_ = has_requests_ || entry.action == TraceAction::free_requested;
  }
}

void Rewinder::load_end() {
  result_.problems = segment_problems(device_);
  for (const stats::TraceSegment& segment : device_.segments) {
    segments_[segment.address] = {segment.total_size, segment.stream, segment.size_class, segment.pool,
                                  segment.expandable};
    for (const stats::TraceBlock& block : segment.blocks) {
      if (block.state == BlockState::free) continue;
      const Bytes requested = block.requested == Bytes{} ? block.size : block.requested;
      blocks_[block.address] = {block.size, requested, block.state == BlockState::pending, false};
    }
  }
}

void Rewinder::miss(std::size_t index, const TraceEntry& entry, std::string_view what) {
  ++result_.misses;
  if (result_.problems.size() >= kMaxProblems) return;
  result_.problems.push_back(fmt::format("entry {}: {} of {} bytes at {:#x}: {}", index, action_name(entry.action),
                                         entry.size.count, entry.address.value, what));
}

Segments::const_iterator Rewinder::segment_of(Address address) const {
  auto found = segments_.upper_bound(address);
  if (found == segments_.begin()) return segments_.end();
  --found;
  return address - found->first < found->second.size ? found : segments_.end();
}

// `size` bytes at `address` lie in one segment and touch no live block.
bool Rewinder::room_for(Address address, Bytes size) const {
  const auto segment = segment_of(address);
  if (segment == segments_.end() || size > segment->second.size - (address - segment->first)) return false;
  const auto above = blocks_.lower_bound(address);
  if (above != blocks_.end() && above->first < address + size) return false;
  if (above == blocks_.begin()) return true;
  const auto below = std::prev(above);
  return below->first + below->second.size <= address;
}

PoolId Rewinder::pool_id(PoolIndex pool) const {
  const auto index = static_cast<std::size_t>(pool);
  return pool == stats::kUnknownPool || index >= trace_.pools.size() ? kDefaultPool : trace_.pools[index];
}

// The entry's own pool, else its segment's, else the default one, counted as guessed.
void Rewinder::note_pool(std::size_t index, const TraceEntry& entry) {
  PoolIndex pool = entry.pool;
  if (pool == stats::kUnknownPool) {
    const auto segment = segment_of(entry.address);
    if (segment != segments_.end()) pool = segment->second.pool;
    if (pool == stats::kUnknownPool) ++result_.guessed_pools;
  }
  if (pool_id(pool) != kDefaultPool) result_.pools.emplace(static_cast<std::uint32_t>(index), pool_id(pool));
}

void Rewinder::undo(std::size_t index, const TraceEntry& entry) {
  switch (entry.action) {
    case TraceAction::alloc:
      return undo_alloc(index, entry);
    case TraceAction::free_requested:
      return undo_requested(index, entry);
    case TraceAction::free_completed:
      return undo_completed(index, entry);
    case TraceAction::segment_alloc:
      return undo_segment_alloc(index, entry);
    case TraceAction::segment_free:
      return undo_segment_free(index, entry);
    case TraceAction::segment_map:
      return undo_map(index, entry);
    case TraceAction::segment_unmap:
      return undo_unmap(index, entry);
    case TraceAction::snapshot:
    case TraceAction::oom:
      return;
  }
}

void Rewinder::undo_alloc(std::size_t index, const TraceEntry& entry) {
  const auto block = blocks_.find(entry.address);
  if (block == blocks_.end()) return miss(index, entry, "no block is there afterwards");
  if (entry.size > block->second.size) miss(index, entry, "the block there afterwards is smaller");
  note_pool(index, entry);
  learn_leftover(block);
  blocks_.erase(block);
}

// A request takes the front of a free block, and free neighbours are merged: whatever is in use below a block when it
// is handed out ends where it begins. That tells a leftover which a free block behind it hides at the start.
void Rewinder::learn_leftover(Blocks::iterator above) {
  if (above == blocks_.begin()) return;
  const auto [address, below] = *std::prev(above);
  const Address end = address + below.size;
  if (!below.derived || end == above->first || above->first - end > kKeptLeftover) return;
  const auto segment = segment_of(address);
  if (segment == segments_.end() || segment->second.size_class == SizeClass::small) return;
  if (segment != segment_of(above->first)) return;
  std::prev(above)->second.size = above->first - address;
}

void Rewinder::undo_completed(std::size_t index, const TraceEntry& entry) {
  if (entry.size == Bytes{} || entry.size > kLargestRequest) return miss(index, entry, "no block has this size");
  const Bytes size = round_size(entry.size, recorded_);
  if (!room_for(entry.address, size)) {
    return miss(index, entry, "that range is in no segment or belongs to another block afterwards");
  }
  blocks_.emplace(entry.address, LiveBlock{size, entry.size, has_requests_, true});
}

void Rewinder::undo_requested(std::size_t index, const TraceEntry& entry) {
  const auto block = blocks_.find(entry.address);
  if (block == blocks_.end()) return miss(index, entry, "its block is never completed and not pending at the end");
  block->second.pending = false;
}

void Rewinder::undo_segment_alloc(std::size_t index, const TraceEntry& entry) {
  const auto segment = segments_.find(entry.address);
  if (segment == segments_.end() || segment->second.size != entry.size) {
    return miss(index, entry, "no segment of this size is there afterwards");
  }
  const auto block = blocks_.lower_bound(entry.address);
  if (block != blocks_.end() && block->first - entry.address < entry.size) {
    miss(index, entry, "a block in it is older than the segment");
  }
  segments_.erase(segment);
}

void Rewinder::undo_segment_free(std::size_t index, const TraceEntry& entry) {
  const auto above = segments_.lower_bound(entry.address);
  const bool wraps = entry.size.count > ~std::uint64_t{0} - entry.address.value;
  if (entry.size == Bytes{} || wraps || segment_of(entry.address) != segments_.end() ||
      (above != segments_.end() && above->first < entry.address + entry.size)) {
    return miss(index, entry, "another segment is there afterwards");
  }
  const SizeClass size_class = entry.size <= kSmallSegment ? SizeClass::small : SizeClass::large;
  segments_[entry.address] = {entry.size, entry.stream, size_class, entry.pool, false};
}

// Takes the range out of the run it was mapped into; what is left on either side are runs of their own.
void Rewinder::undo_map(std::size_t index, const TraceEntry& entry) {
  const auto found = segment_of(entry.address);
  if (found == segments_.end() || !found->second.expandable ||
      entry.size > found->second.size - (entry.address - found->first)) {
    return miss(index, entry, "no mapped run has this range afterwards");
  }
  const auto block = blocks_.lower_bound(entry.address);
  if (block != blocks_.end() && block->first - entry.address < entry.size) {
    return miss(index, entry, "a block in it is older than its pages");
  }
  const auto [address, run] = *found;
  segments_.erase(found);
  const Bytes below = entry.address - address;
  const Bytes above = run.size - below - entry.size;
  if (below > Bytes{}) segments_[address] = {below, run.stream, run.size_class, run.pool, true};
  if (above > Bytes{}) segments_[entry.address + entry.size] = {above, run.stream, run.size_class, run.pool, true};
}

// Puts the range back; touching runs of its stream and pool are one. Its class is that of a neighbour, or told by its
// size.
void Rewinder::undo_unmap(std::size_t index, const TraceEntry& entry) {
  const auto above = segments_.lower_bound(entry.address);
  const bool wraps = entry.size.count > ~std::uint64_t{0} - entry.address.value;
  if (entry.size == Bytes{} || wraps || segment_of(entry.address) != segments_.end() ||
      (above != segments_.end() && above->first < entry.address + entry.size)) {
    return miss(index, entry, "something is mapped there afterwards");
  }
  const bool small = entry.size.count % recorded_.large_segment_size.count != 0;
  const SizeClass size_class = small ? SizeClass::small : SizeClass::large;
  const LiveSegment run{entry.size, entry.stream, size_class, entry.pool, true};
  join_run(segments_.emplace(entry.address, run).first);
}

void Rewinder::join_run(Segments::iterator run) {
  const auto joins = [](const auto& low, const auto& high) {
    return low.second.expandable && high.second.expandable && low.first + low.second.size == high.first &&
           low.second.stream == high.second.stream && low.second.pool == high.second.pool;
  };
  if (const auto next = std::next(run); next != segments_.end() && joins(*run, *next)) {
    run->second.size += next->second.size;
    run->second.size_class = next->second.size_class;
    segments_.erase(next);
  }
  if (run == segments_.begin()) return;
  if (const auto below = std::prev(run); joins(*below, *run)) {
    below->second.size += run->second.size;
    segments_.erase(run);
  }
}

// The size of a block with `gap` free bytes behind it. In a large segment a leftover is split off only above 1 MiB; an
// oversize block keeps what the search may give it.
Bytes Rewinder::with_leftover(const LiveBlock& block, Bytes gap, SizeClass size_class) const {
  if (!block.derived || size_class == SizeClass::small) return block.size;
  const bool oversize = block.size >= recorded_.max_split_size;
  const bool kept = gap <= kKeptLeftover || (oversize && gap < recorded_.effective_max_non_split_rounding());
  return kept ? block.size + gap : block.size;
}

void Rewinder::build() {
  auto block = blocks_.begin();
  for (const auto& [address, segment] : segments_) {
    const auto number = static_cast<SegmentNumber>(result_.state.segments.size());
    SegmentView view{.number = number,
                     .address = address,
                     .size = segment.size,
                     .stream = streams_.at(segment.stream),
                     .pool = pool_id(segment.pool),
                     .size_class = segment.size_class,
                     .expandable = segment.expandable,
                     .blocks = {},
                     .page_size = {}};
    result_.expandable = result_.expandable || segment.expandable;
    const Address end = address + segment.size;
    for (; block != blocks_.end() && block->first < end; ++block) {
      const auto next = std::next(block);
      const Address limit = next != blocks_.end() && next->first < end ? next->first : end;
      const Address own_end = block->first + block->second.size;
      const Bytes gap = own_end < limit ? limit - own_end : Bytes{};
      const BlockState state = block->second.pending ? BlockState::pending : BlockState::live;
      view.blocks.push_back(
          {block->first, with_leftover(block->second, gap, segment.size_class), block->second.requested, state, Tag{}});
    }
    result_.state.segments.push_back(std::move(view));
  }
}

}  // namespace

Rewound rewind(const stats::Trace& trace, std::size_t device, const Options& recorded) {
  return Rewinder(trace, device, recorded).run();
}

}  // namespace quarry::tools
