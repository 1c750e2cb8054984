// Space: what reads the whole of it, and the two doors of replay.
#include <algorithm>
#include <cmath>

#include <quarry/allocator/check.h>
#include <quarry/allocator/space.h>
#include <quarry/allocator/space_errors.h>

namespace quarry {
namespace {

Bytes unsigned_count(std::int64_t n) { return {static_cast<std::uint64_t>(n)}; }

// Adds one segment's free bytes to the right side of the ledger.
void add_segment(const SegmentView& segment, Ledger& ledger) {
  ++ledger.segments;
  const bool whole = segment.blocks.size() == 1;
  for (const BlockView& block : segment.blocks) {
    if (block.state == BlockState::live) ++ledger.live_blocks;
    if (block.state != BlockState::free) continue;
    ++ledger.free_blocks;
    (whole ? ledger.releasable : ledger.stranded) += block.size;
    ledger.largest_free = std::max(ledger.largest_free, block.size);
  }
}

// What the current values of the counters must be, from a walk.
Counters recount(const Snapshot& snapshot) {
  Counters counted;
  for (const SegmentView& segment : snapshot.segments) {
    const auto add = [&](Metric metric, std::uint64_t n) {
      counted.change(metric, segment.size_class, static_cast<std::int64_t>(n));
    };
    add(Metric::segment, 1);
    add(Metric::reserved_bytes, segment.size.count);
    for (const BlockView& block : segment.blocks) {
      if (block.state == BlockState::live) {
        add(Metric::allocation, 1);
        add(Metric::allocated_bytes, block.size.count);
      }
      if (block.state != BlockState::free) {
        add(Metric::active, 1);
        add(Metric::active_bytes, block.size.count);
        add(Metric::requested_bytes, block.requested.count);
      } else if (segment.blocks.size() > 1) {
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

MemoryInfo Space::device_info() const {
  const DriverResult<MemoryInfo> info = driver_->memory().info();
  return info ? info.value : MemoryInfo{};
}

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
  ledger.limit = std::min(fraction_limit_, options_.memory_limit);
  Snapshot snapshot;
  heap_->walk(snapshot);
  for (const SegmentView& segment : snapshot.segments) add_segment(segment, ledger);
  return ledger;
}

Snapshot Space::snapshot() const {
  const std::lock_guard lock(heap_mutex_);
  Snapshot snapshot;
  heap_->walk(snapshot);
  snapshot.sequence = sequence_;
  snapshot.streams = streams_.handles();
  return snapshot;
}

Bytes Space::largest_available() const {
  const Bytes device = device_info().free;
  const std::lock_guard lock(heap_mutex_);
  return std::max(device, heap_->largest_free());
}

Result<Allocator::Segment> Space::segment_of(Address address) const {
  const std::lock_guard lock(heap_mutex_);
  const Block* block = live_.find(address);
  if (block == nullptr) return Error{ErrorCode::invalid, "no live block starts at this pointer"};
  return Allocator::Segment{block->segment->address, block->segment->size};
}

void Space::reset_peak() {
  const std::lock_guard lock(heap_mutex_);
  counters_.reset_peak();
  requested_live_.reset_peak();
}

void Space::reset_accumulated() {
  const std::lock_guard lock(heap_mutex_);
  counters_.reset_accumulated();
  requested_live_.reset_accumulated();
}

std::string Space::validate() const {
  const std::lock_guard lock(heap_mutex_);
  if (std::string broken = heap_->validate(); !broken.empty()) return broken;
  Snapshot snapshot;
  heap_->walk(snapshot);
  std::size_t live = 0;
  std::int64_t requested = 0;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& block : segment.blocks) {
      if (block.state != BlockState::live) continue;
      ++live;
      requested += static_cast<std::int64_t>(block.requested.count);
      if (live_.find(block.address) == nullptr) return "a live block is missing from the address map";
    }
  }
  if (live != live_.size()) return "the address map has blocks that no segment holds";
  if (requested != requested_live_.current) return "live requested bytes differ from a walk";
  return compare_current(counters_, recount(snapshot));
}

Status Space::restore(const Snapshot& state) {
  const std::lock_guard grow(grow_mutex_);
  const std::lock_guard lock(heap_mutex_);
  if (counters_[Metric::segment].all.current != 0) {
    return Error{ErrorCode::invalid, "restore needs a space that holds nothing"};
  }
  std::vector<const SegmentView*> order;
  for (const SegmentView& segment : state.segments) order.push_back(&segment);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->number < b->number; });
  std::vector<Block*> live;
  for (const SegmentView* segment : order) {
    const DriverStatus status = heap_->restore(*segment, live);
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
  const DriverStatus status = heap_->release_at(base);
  if (status.code == DriverCode::invalid) {
    return Error{ErrorCode::invalid, "no wholly free segment lies at " + std::to_string(base.value)};
  }
  if (!status) return driver_error("releasing a segment", status);
  return Done{};
}

}  // namespace quarry
