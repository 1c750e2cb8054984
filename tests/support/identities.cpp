#include "support/identities.h"

#include <algorithm>
#include <map>

namespace quarry::oracle {
namespace {

std::string at(Address address) { return " at " + std::to_string(address.value); }

std::string differs(const std::string& what, std::uint64_t kept, std::uint64_t walked) {
  return what + " is " + std::to_string(kept) + ", the walk says " + std::to_string(walked);
}

bool off_grid(std::uint64_t n) { return n % 512 != 0; }

std::string broken_block(const BlockView& block) {
  if (off_grid(block.address.value) || off_grid(block.size.count) || block.size.count == 0) {
    return "a block off the 512 byte grid" + at(block.address);
  }
  if (!block.head && block.requested != Bytes{}) return "a request is counted twice" + at(block.address);
  const bool nameless = block.state != BlockState::free || (block.block == Address{} && block.head);
  return nameless ? "" : "a free range has the name of a block" + at(block.address);
}

std::string broken_segment(const SegmentView& segment) {
  Address next = segment.address;
  const BlockView* before = nullptr;
  for (const BlockView& block : segment.blocks) {
    if (block.address != next) return "blocks overlap or leave a gap" + at(block.address);
    if (std::string broken = broken_block(block); !broken.empty()) return broken;
    const bool both_free = before != nullptr && before->state == BlockState::free && block.state == BlockState::free;
    if (both_free && !segment.paged) return "two free neighbours" + at(block.address);
    next = block.address + block.size;
    before = &block;
  }
  if (next != segment.address + segment.size) return "blocks do not fill their segment" + at(segment.address);
  return {};
}

// A block that is not free, put together from its pieces.
struct Whole {
  BlockView first;  // of its pieces by place
  Bytes size;
  Bytes requested;
  std::uint64_t heads = 0;
  bool agrees = true;
};

std::map<Address, Whole> whole_blocks(const Snapshot& snapshot) {
  std::map<Address, Whole> blocks;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& piece : segment.blocks) {
      if (piece.state == BlockState::free) continue;
      Whole& whole = blocks.try_emplace(piece.name(), Whole{piece, {}, {}}).first->second;
      whole.size += piece.size;
      whole.requested += piece.requested;
      if (piece.head) ++whole.heads;
      const BlockView& first = whole.first;
      whole.agrees = whole.agrees && piece.state == first.state && piece.tag == first.tag &&
                     piece.stream == first.stream && piece.size_class == first.size_class;
    }
  }
  return blocks;
}

std::string broken_whole(Address name, const Whole& whole) {
  if (whole.heads != 1) return "a block has no first piece, or several" + at(name);
  if (!whole.agrees) return "the pieces of a block do not agree" + at(name);
  return whole.requested > whole.size ? "a block below its request" + at(name) : "";
}

// The free ranges of a segment, neighbours put together.
std::vector<BlockView> free_runs(const SegmentView& segment) {
  std::vector<BlockView> runs;
  bool goes_on = false;
  for (const BlockView& block : segment.blocks) {
    if (block.state == BlockState::free) {
      if (goes_on) {
        runs.back().size += block.size;
      } else {
        runs.push_back(block);
      }
    }
    goes_on = block.state == BlockState::free;
  }
  return runs;
}

// The sums of a walk over blocks of one class, or of both.
struct Walked {
  std::int64_t segments = 0, reserved = 0, live = 0, allocated = 0, active = 0, active_bytes = 0, requested = 0;
  std::int64_t idle = 0, idle_bytes = 0;

  // Of expandable segments only bytes count: the driver knows no such segment, and what is cut there can be given back.
  void add_range(const SegmentView& segment) {
    if (!segment.expandable) ++segments;
    reserved += static_cast<std::int64_t>(segment.size.count);
  }
  // `split`: a free block counts as one that keeps its segment.
  void add(const BlockView& block, bool split) {
    const auto size = static_cast<std::int64_t>(block.size.count);
    if (block.state == BlockState::free) {
      if (split) ++idle, idle_bytes += size;
      return;
    }
    const int one = block.head ? 1 : 0;
    if (block.state == BlockState::live) live += one, allocated += size;
    active += one;
    active_bytes += size;
    requested += static_cast<std::int64_t>(block.requested.count);
  }
  // In the order of Metric.
  std::array<std::int64_t, kMetricNames.size()> values() const {
    return {live, segments, active, idle, allocated, reserved, active_bytes, idle_bytes, requested};
  }
};

struct Walk {
  Walked all, small_pool, large_pool;
};

Walk walk(const Snapshot& snapshot) {
  Walk sums;
  const auto row = [&](SizeClass size_class) -> Walked& {
    return size_class == SizeClass::small ? sums.small_pool : sums.large_pool;
  };
  for (const SegmentView& segment : snapshot.segments) {
    sums.all.add_range(segment);
    row(segment.size_class).add_range(segment);
    const bool split = segment.blocks.size() > 1 && !segment.expandable && !segment.paged;
    for (const BlockView& block : segment.blocks) {
      sums.all.add(block, split);
      row(segment.paged ? block.size_class : segment.size_class).add(block, split);
    }
  }
  return sums;
}

std::string broken_row(const std::string& name, const MetricRow& row, std::int64_t all, std::int64_t small,
                       std::int64_t large) {
  if (row.all.current != all || row.small_pool.current != small || row.large_pool.current != large) {
    return name + ": current " + std::to_string(row.all.current) + " = " + std::to_string(row.small_pool.current) +
           " + " + std::to_string(row.large_pool.current) + ", the walk says " + std::to_string(all) + " = " +
           std::to_string(small) + " + " + std::to_string(large);
  }
  if (row.all.allocated != row.small_pool.allocated + row.large_pool.allocated ||
      row.all.freed != row.small_pool.freed + row.large_pool.freed) {
    return name + ": the total is not the sum of its rows";
  }
  for (const Stat* stat : {&row.all, &row.small_pool, &row.large_pool}) {
    if (stat->peak < stat->current) return name + ": peak below current";
  }
  return {};
}

// Of a free run: all of it where it is alone in a plain segment; whole pages of an expandable one, whose runs begin at
// a page.
std::uint64_t releasable_bytes(const SegmentView& segment, const BlockView& block) {
  if (!segment.expandable) return segment.size == block.size ? block.size.count : 0;
  const std::uint64_t page = segment.page_size.count;
  const std::uint64_t begin = (block.address - segment.address).count;
  const std::uint64_t first = (begin + page - 1) / page * page;
  const std::uint64_t end = (begin + block.size.count) / page * page;
  return first < end ? end - first : 0;
}

bool flows(const Stat& now, const Stat& base) { return now.allocated - now.freed == now.current - base.current; }

}  // namespace

std::vector<LiveBlock> live_blocks(const Snapshot& snapshot) {
  std::vector<LiveBlock> live;
  for (const auto& [name, whole] : whole_blocks(snapshot)) {
    if (whole.first.state == BlockState::live) live.push_back({name, whole.size, whole.requested});
  }
  return live;
}

std::string broken_layout(const Snapshot& snapshot, std::span<const LiveBlock> live) {
  Address end;
  for (const SegmentView& segment : snapshot.segments) {
    if (segment.address < end) return "segments overlap or are out of order" + at(segment.address);
    end = segment.address + segment.size;
    if (std::string broken = broken_segment(segment); !broken.empty()) return broken;
  }
  std::size_t found = 0;
  const std::map<Address, Whole> blocks = whole_blocks(snapshot);
  for (const auto& [name, whole] : blocks) {
    if (std::string broken = broken_whole(name, whole); !broken.empty()) return broken;
    if (whole.first.state == BlockState::live) ++found;
  }
  if (found != live.size()) return differs("number of live blocks", live.size(), found);
  for (const LiveBlock& block : live) {
    const auto whole = blocks.find(block.address);
    if (whole == blocks.end() || whole->second.first.state != BlockState::live) {
      return "a live block is in no segment" + at(block.address);
    }
    if (whole->second.size != block.size) return "a live block has another size" + at(block.address);
    if (whole->second.requested != block.requested) return "a live block has another request" + at(block.address);
  }
  return {};
}

std::string broken_counters(const Counters& counters, const Snapshot& snapshot) {
  const Walk sums = walk(snapshot);
  const auto all = sums.all.values();
  const auto small = sums.small_pool.values();
  const auto large = sums.large_pool.values();
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    std::string broken = broken_row(std::string(kMetricNames[i]), counters.metrics[i], all[i], small[i], large[i]);
    if (!broken.empty()) return broken;
  }
  return {};
}

std::string broken_flow(const Counters& counters, const Counters& baseline) {
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    const MetricRow& now = counters.metrics[i];
    const MetricRow& base = baseline.metrics[i];
    if (!flows(now.all, base.all) || !flows(now.small_pool, base.small_pool) ||
        !flows(now.large_pool, base.large_pool)) {
      return std::string(kMetricNames[i]) + ": allocated - freed is not what current grew by";
    }
  }
  for (std::size_t i = 0; i < kGaugeNames.size(); ++i) {
    if (!flows(counters.gauges[i], baseline.gauges[i])) {
      return std::string(kGaugeNames[i]) + ": allocated - freed is not what current grew by";
    }
  }
  return {};
}

std::string broken_ledger(const Ledger& ledger, const Counters& counters, const Snapshot& snapshot) {
  std::uint64_t releasable = 0, stranded = 0, largest = 0, free_blocks = 0, requested = 0;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& block : segment.blocks) {
      if (block.state == BlockState::live) requested += block.requested.count;
    }
    for (const BlockView& block : free_runs(segment)) {
      ++free_blocks;
      largest = std::max(largest, block.size.count);
      const std::uint64_t back = releasable_bytes(segment, block);
      releasable += back;
      stranded += block.size.count - back;
    }
  }
  const auto current = [&](Metric m) { return static_cast<std::uint64_t>(counters[m].all.current); };
  std::uint64_t active_rows = 0, cached_rows = 0, pending_rows = 0;
  for (const StreamRow& row : ledger.streams) {
    active_rows += row.active.count;
    cached_rows += row.cached.count;
  }
  for (const PendingOn& row : ledger.pending_by_stream) pending_rows += row.bytes.count;
  const std::uint64_t pending = current(Metric::active_bytes) - current(Metric::allocated_bytes);
  const std::pair<const char*, std::pair<std::uint64_t, std::uint64_t>> figures[] = {
      {"ledger.requested", {ledger.requested.count, requested}},
      {"ledger.allocated", {ledger.allocated.count, current(Metric::allocated_bytes)}},
      {"ledger.pending", {ledger.pending.count, pending}},
      {"active by stream", {active_rows, ledger.active().count}},
      {"cached by stream", {cached_rows, ledger.cached().count}},
      {"pending by stream", {pending_rows, ledger.pending.count}},
      {"ledger.reserved", {ledger.reserved.count, current(Metric::reserved_bytes)}},
      {"ledger.releasable", {ledger.releasable.count, releasable}},
      {"ledger.stranded", {ledger.stranded.count, stranded}},
      {"ledger.largest_free", {ledger.largest_free.count, largest}},
      {"ledger.free_blocks", {ledger.free_blocks, free_blocks}},
      {"ledger.live_blocks", {ledger.live_blocks, current(Metric::allocation)}},
      {"ledger.segments", {ledger.segments, snapshot.segments.size()}},
      {"reserved", {ledger.reserved.count, (ledger.active() + ledger.releasable + ledger.stranded).count}},
  };
  for (const auto& [name, pair] : figures) {
    if (pair.first != pair.second) return differs(name, pair.first, pair.second);
  }
  if (ledger.requested > ledger.allocated || ledger.allocated > ledger.active() || ledger.active() > ledger.reserved) {
    return "requested <= allocated <= active <= reserved does not hold";
  }
  if (ledger.peak_requested < ledger.requested || ledger.peak_allocated < ledger.allocated ||
      ledger.peak_reserved < ledger.reserved) {
    return "a peak of the ledger lies below its current value";
  }
  return {};
}

std::string broken_identity(const Allocator& allocator, const sim::Device* device, std::span<const LiveBlock> live,
                            const Counters& baseline) {
  if (std::string broken = allocator.validate(); !broken.empty()) return "validate: " + broken;
  const Snapshot snapshot = allocator.snapshot();
  const Counters counters = allocator.counters();
  const Ledger ledger = allocator.ledger();
  if (std::string broken = broken_layout(snapshot, live); !broken.empty()) return broken;
  if (std::string broken = broken_counters(counters, snapshot); !broken.empty()) return broken;
  if (std::string broken = broken_flow(counters, baseline); !broken.empty()) return broken;
  if (std::string broken = broken_ledger(ledger, counters, snapshot); !broken.empty()) return broken;
  if (device == nullptr) return {};
  if (device->in_use() != ledger.reserved) return differs("reserved", ledger.reserved.count, device->in_use().count);
  const auto plain = static_cast<std::uint64_t>(counters[Metric::segment].all.current);
  if (device->segments() != plain) return differs("segments", plain, device->segments());
  return {};
}

}  // namespace quarry::oracle
