// Space: what reads the whole of it, and the two doors of replay.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <quarry/allocator/check.h>
#include <quarry/allocator/space.h>
#include <quarry/allocator/space_errors.h>

namespace quarry {
namespace {

Bytes unsigned_count(std::int64_t n) { return {static_cast<std::uint64_t>(n)}; }

// What empty_cache would give back of a free block: all of a plain segment if it fills it, else nothing; of an
// expandable one the pages that lie wholly inside the block. A run of pages begins and ends with a page.
Bytes releasable_part(const SegmentView& segment, const BlockView& block) {
  if (!segment.expandable) return segment.blocks.size() == 1 ? block.size : Bytes{};
  const std::uint64_t page = segment.page_size.count;
  const std::uint64_t from = (block.address - segment.address).count;
  const std::uint64_t first = (from + page - 1) / page * page;
  const std::uint64_t end = (from + block.size.count) / page * page;
  return {first < end ? end - first : 0};
}

// The segment with free neighbours merged: in the paged policy those of several streams lie side by side. `waited`: as
// it will be once its pending blocks are free.
SegmentView merged(const SegmentView& segment, bool waited) {
  SegmentView later = segment;
  later.blocks.clear();
  for (BlockView block : segment.blocks) {
    if (waited && block.state == BlockState::pending) block.state = BlockState::free;
    const bool joins =
        !later.blocks.empty() && block.state == BlockState::free && later.blocks.back().state == BlockState::free;
    if (joins) {
      later.blocks.back().size += block.size;
    } else {
      later.blocks.push_back(block);
    }
  }
  return later;
}

// The one block that keeps a plain segment, if it is one.
void add_stranding(const SegmentView& segment, Ledger& ledger) {
  const BlockView* lone = nullptr;
  for (const BlockView& block : segment.blocks) {
    if (block.state == BlockState::free) continue;
    if (lone != nullptr) return;
    lone = &block;
  }
  if (lone == nullptr || segment.expandable || lone->size == segment.size) return;
  const bool pending = lone->state == BlockState::pending;
  ledger.stranding.push_back({lone->address, lone->size, lone->tag, pending, segment.size - lone->size});
}

// In use in one page of the paged policy.
struct PageUse {
  const BlockView* block = nullptr;
  bool alone = true;
  Bytes used;
};

// The blocks that are alone in a page, with what they keep there; a block may keep two pages or more.
void add_page_stranding(const SegmentView& segment, Ledger& ledger) {
  std::map<std::uint64_t, PageUse> pages;
  for (const BlockView& block : segment.blocks) {
    if (block.state == BlockState::free) continue;
    const std::uint64_t begin = (block.address - segment.address).count;
    const std::uint64_t end = begin + block.size.count;
    const std::uint64_t size = segment.page_size.count;
    for (const std::uint64_t page : {begin / size, (end - 1) / size}) {
      PageUse& use = pages[page];
      if (use.block == &block) continue;
      use.alone = use.block == nullptr || use.block->name() == block.name();
      use.block = &block;
      use.used += Bytes{std::min(end, (page + 1) * size) - std::max(begin, page * size)};
    }
  }
  std::map<Address, Stranding> found;
  for (const auto& [page, use] : pages) {
    if (!use.alone || use.used == segment.page_size) continue;
    Stranding& row = found[use.block->name()];
    row = {use.block->name(), use.block->size, use.block->tag, use.block->state == BlockState::pending,
           row.strands + segment.page_size - use.used};
  }
  for (const auto& [address, row] : found) ledger.stranding.push_back(row);
}

// Adds one segment's free bytes to the right side of the ledger.
void add_segment(const SegmentView& segment, Ledger& ledger) {
  if (segment.paged && segment.expandable) {
    add_page_stranding(segment, ledger);
  } else {
    add_stranding(segment, ledger);
  }
  const SegmentView later = merged(segment, true);
  for (const BlockView& block : later.blocks) {
    if (block.state == BlockState::free) ledger.releasable_after_wait += releasable_part(later, block);
  }
  ++ledger.segments;
  const SegmentView now = merged(segment, false);
  for (const BlockView& block : now.blocks) {
    if (block.state == BlockState::live && block.head) ++ledger.live_blocks;
    if (block.state != BlockState::free) continue;
    ++ledger.free_blocks;
    const Bytes releasable = releasable_part(now, block);
    ledger.releasable += releasable;
    ledger.stranded += block.size - releasable;
    ledger.largest_free = std::max(ledger.largest_free, block.size);
  }
}

std::vector<StreamRow> stream_rows(const Snapshot& snapshot) {
  std::map<std::pair<bool, StreamId>, StreamRow> rows;
  for (const SegmentView& segment : snapshot.segments) {
    if (!segment.paged) rows.try_emplace({false, segment.stream}, StreamRow{segment.stream, false, {}, {}});
    for (const BlockView& block : segment.blocks) {
      const StreamId stream = segment.paged ? block.stream : segment.stream;
      StreamRow& row = rows.try_emplace({block.shared, stream}, StreamRow{stream, block.shared, {}, {}}).first->second;
      (block.state == BlockState::free ? row.cached : row.active) += block.size;
    }
  }
  std::vector<StreamRow> sorted;
  for (const auto& [key, row] : rows) sorted.push_back(row);
  return sorted;
}

// What the current values of the counters must be, from a walk.
Counters recount(const Snapshot& snapshot) {
  Counters counted;
  for (const SegmentView& segment : snapshot.segments) {
    SizeClass size_class = segment.size_class;
    const auto add = [&](Metric metric, std::uint64_t n) {
      counted.change(metric, size_class, static_cast<std::int64_t>(n));
    };
    if (!segment.expandable) add(Metric::segment, 1);
    add(Metric::reserved_bytes, segment.size.count);
    for (const BlockView& block : segment.blocks) {
      if (segment.paged) size_class = block.size_class;
      if (block.state == BlockState::live) {
        add(Metric::allocation, block.head ? 1 : 0);
        add(Metric::allocated_bytes, block.size.count);
      }
      if (block.state != BlockState::free) {
        add(Metric::active, block.head ? 1 : 0);
        add(Metric::active_bytes, block.size.count);
        add(Metric::requested_bytes, block.requested.count);
      } else if (segment.blocks.size() > 1 && !segment.expandable && !segment.paged) {
        add(Metric::inactive_split, 1);
        add(Metric::inactive_split_bytes, block.size.count);
      }
    }
  }
  return counted;
}

std::string compare_current(const Counters& kept, const Counters& counted) {
  std::string broken;
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    const auto same = [](const Stat& a, const Stat& b) { return a.current == b.current; };
    const MetricRow& a = kept.metrics[i];
    const MetricRow& b = counted.metrics[i];
    if (!same(a.all, b.all) || !same(a.small_pool, b.small_pool) || !same(a.large_pool, b.large_pool)) {
      broken = "counter " + std::string(kMetricNames[i]) + " differs from a walk";
    }
  }
  return broken;
}

}  // namespace

Counters Space::counters() const {
  const std::lock_guard lock(heap_mutex_);
  return counters_;
}

Ledger Space::ledger() const {
  const MemoryInfo device = device_info();
  const std::lock_guard lock(heap_mutex_);
  return ledger_locked(device);
}

Ledger Space::ledger_locked(const MemoryInfo& device) const {
  const auto& allocated = counters_[Metric::allocated_bytes].all;
  const auto& reserved = counters_[Metric::reserved_bytes].all;
  Ledger ledger;
  ledger.requested = unsigned_count(requested_live_.current);
  ledger.allocated = unsigned_count(allocated.current);
  ledger.pending = unsigned_count(counters_[Metric::active_bytes].all.current - allocated.current);
  ledger.reserved = unsigned_count(reserved.current);
  ledger.peak_requested = unsigned_count(requested_live_.peak);
  ledger.peak_allocated = unsigned_count(allocated.peak);
  ledger.peak_reserved = unsigned_count(reserved.peak);
  ledger.retries = counters_[Tally::num_alloc_retries];
  ledger.device_free = device.free;
  ledger.device_total = device.total;
  ledger.limit = limit();
  ledger.contiguous = paged() && !arena_->maps();
  Snapshot snapshot;
  walk(snapshot);
  for (const SegmentView& segment : snapshot.segments) add_segment(segment, ledger);
  std::ranges::stable_sort(ledger.stranding, std::ranges::greater{}, &Stranding::strands);
  if (ledger.stranding.size() > kMostStranding) ledger.stranding.resize(kMostStranding);
  ledger.streams = stream_rows(snapshot);
  ledger.pending_by_stream = pending_by_stream();
  ledger.settings = option_string(options_);
  return ledger;
}

// Blocks without an event, parked by a capture or waiting for the device, count under their own stream.
std::vector<PendingOn> Space::pending_by_stream() const {
  std::map<StreamId, Bytes> bytes;
  std::set<const Block*> seen;
  const auto add = [&](StreamId stream, const Block* block) {
    if (seen.insert(block).second) bytes[stream] += block->size;
  };
  for (const StreamId stream : pending_.streams()) {
    for (std::size_t i = 0; const PendingFrees::Event* event = pending_.nth(stream, i); ++i) add(stream, event->block);
  }
  for (const Block* block : pending_.unordered) add(block->segment->stream, block);
  for (const auto& [block, capturing] : pending_.parked) add(block->segment->stream, block);
  std::vector<PendingOn> rows;
  for (const auto& [stream, sum] : bytes) rows.push_back({stream, sum});
  return rows;
}

void Space::walk(Snapshot& into) const {
  for (const auto& [id, pool] : pools_) {
    if (pool.heap != nullptr) pool.heap->walk(into);
  }
  std::ranges::sort(into.segments, {}, &SegmentView::address);
}

Snapshot Space::snapshot() const {
  const std::lock_guard lock(heap_mutex_);
  Snapshot snapshot;
  walk(snapshot);
  snapshot.sequence = sequence_;
  snapshot.streams = streams_.handles();
  return snapshot;
}

Bytes Space::largest_available() const {
  const Bytes device = device_info().free;
  const std::lock_guard lock(heap_mutex_);
  Bytes largest = device;
  for (const auto& [id, pool] : pools_) {
    if (pool.heap != nullptr) largest = std::max(largest, pool.heap->largest_free());
  }
  return largest;
}

Result<Allocator::Segment> Space::segment_of(Address address) const {
  const std::lock_guard lock(heap_mutex_);
  const Block* block = live_.find(address);
  if (block == nullptr) return Error{ErrorCode::invalid, "no live block starts at this pointer"};
  if (block->segment->lane) return Error{ErrorCode::invalid, "a block of the paged policy has no segment of its own"};
  if (block->segment->expandable()) {
    return Error{ErrorCode::invalid, "the block lies in an expandable segment: it has no base of its own"};
  }
  return Allocator::Segment{block->segment->address, block->segment->size};
}

void Space::reset_peak() {
  const std::lock_guard lock(heap_mutex_);
  counters_.reset_peak();
  for (auto& [id, pool] : pools_) pool.counters.reset_peak();
  requested_live_.reset_peak();
}

void Space::reset_accumulated() {
  const std::lock_guard lock(heap_mutex_);
  counters_.reset_accumulated();
  for (auto& [id, pool] : pools_) pool.counters.reset_accumulated();
  requested_live_.reset_accumulated();
}

std::string Space::validate() const {
  const std::lock_guard lock(heap_mutex_);
  for (const auto& [id, pool] : pools_) {
    if (pool.heap == nullptr) continue;
    if (std::string broken = pool.heap->validate(); !broken.empty()) return broken;
  }
  Snapshot snapshot;
  walk(snapshot);
  std::size_t live = 0;
  std::int64_t requested = 0;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& block : segment.blocks) {
      if (block.state != BlockState::live || !block.head) continue;
      ++live;
      requested += static_cast<std::int64_t>(block.requested.count);
      if (live_.find(block.name()) == nullptr) return "a live block is missing from the address map";
    }
  }
  if (live != live_.size()) return "the address map has blocks that no segment holds";
  if (requested != requested_live_.current) return "live requested bytes differ from a walk";
  return compare_current(counters_, recount(snapshot));
}

Status Space::restore(const Snapshot& state) {
  const std::lock_guard grow(grow_mutex_);
  const std::lock_guard lock(heap_mutex_);
  if (reserved() != Bytes{}) {
    return Error{ErrorCode::invalid, "restore needs a space that holds nothing"};
  }
  std::vector<const SegmentView*> order;
  for (const SegmentView& segment : state.segments) order.push_back(&segment);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->number != b->number ? a->number < b->number : a->address < b->address;
  });
  std::vector<Block*> live;
  for (const SegmentView* segment : order) {
    if (segment->pool != kDefaultPool && find_pool(segment->pool) == nullptr) {
      if (Status acquired = acquire_pool(segment->pool); !acquired) return acquired;
    }
    const DriverStatus status = find_pool(segment->pool)->heap->restore(*segment, live);
    for (Block* block : live) {
      block->uses = nullptr;
      count_live(*block);
      live_.insert(block);
    }
    live.clear();
    if (!status) return driver_error("restoring segment " + std::to_string(segment->address.value), status);
  }
  return Done{};
}

Status Space::release_segment(Address base) {
  const std::lock_guard grow(grow_mutex_);
  const std::lock_guard lock(heap_mutex_);
  DriverStatus status{DriverCode::invalid};
  for (auto& [id, pool] : pools_) {
    if (pool.heap != nullptr && status.code == DriverCode::invalid) status = pool.heap->release_at(base);
  }
  if (status.code == DriverCode::invalid) {
    return Error{ErrorCode::invalid, "no wholly free segment lies at " + std::to_string(base.value)};
  }
  if (!status) return driver_error("releasing a segment", status);
  return Done{};
}

}  // namespace quarry
