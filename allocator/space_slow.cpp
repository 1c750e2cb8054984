// Space: misses. The ladder's view of a space, the door to the driver, refusals, empty_cache, limits.
#include <algorithm>
#include <cmath>

#include <quarry/allocator/check.h>
#include <quarry/allocator/space.h>
#include <quarry/allocator/space_errors.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {
namespace {

Bytes part_of(Bytes total, double fraction) {
  if (total == kUnlimited) return kUnlimited;
  return {static_cast<std::uint64_t>(std::floor(fraction * static_cast<double>(total.count)))};
}

}  // namespace

// One climb for one request. `lock` is the heap's; the grow lock is held too.
class Space::SpaceClimber final : public Climber {
 public:
  SpaceClimber(Space& space, Pool& pool, const Placement& placement, Lock& lock)
      : space_(space), pool_(pool), placement_(placement), lock_(lock) {}

  Block* search() override { return pool_.heap->find(placement_); }
  Block* search_anywhere() override { return pool_.heap->find_anywhere(placement_); }
  DriverResult<Block*> grow() override { return pool_.heap->grow(placement_); }

  bool run_callbacks() override {
    if (space_.reclaim_callbacks_.empty()) return false;
    const auto callbacks = space_.reclaim_callbacks_;
    const Unlocked unlocked(lock_);
    bool freed = false;
    for (const auto& callback : callbacks) freed = callback() || freed;
    return freed;
  }

  void collect_garbage() override {
    if (space_.paged() && space_.capture_seen()) return;  // pages go only after a wait for the device
    const Bytes limit = space_.garbage_limit();
    const Bytes reserved = space_.reserved();
    if (reserved > limit) space_.default_pool_.heap->collect_garbage(reserved - limit);
  }

  // A request that the ordinary limit refuses climbs on; only one that would be asked of the driver is rejected.
  bool rejects() override {
    if (!space_.options_.throw_on_cudamalloc_oom) return false;
    const Bytes growth = pool_.heap->growth(placement_);
    if (growth == Bytes{} || space_.over_limit(growth)) return false;
    MemoryInfo device;
    {
      const Unlocked unlocked(lock_);
      device = space_.device_info();
    }
    const Bytes allowed = part_of(device.total, space_.options_.per_process_memory_fraction);
    const Bytes reserved = space_.reserved();
    return reserved > allowed || growth > allowed - reserved;
  }

  Block* borrow() override {
    if (&pool_ != &space_.default_pool_) return nullptr;
    for (auto& [id, pool] : space_.pools_) {
      if (!pool.use_on_oom || pool.heap == nullptr || &pool == &pool_) continue;
      if (Block* block = pool.heap->find_plain(placement_); block != nullptr) return block;
    }
    return nullptr;
  }

  bool release_oversize() override { return pool_.heap->release_for(placement_); }
  bool may_wait() override { return !space_.capture_seen(); }
  bool wait_on_streams() override { return pool_.heap->wait_for(placement_); }
  void wait_for_pending() override {
    space_.wait_for_pending(lock_);
    space_.flush_fronts();
  }
  void release_cached(bool own_pool) override { space_.release_unused(own_pool ? &pool_ : nullptr); }
  void count_retry() override { ++space_.counters_[Tally::num_alloc_retries]; }
  bool close_holes() const override { return space_.options_.close_holes; }
  void look_again() override { space_.look_again(lock_); }

 private:
  Space& space_;
  Pool& pool_;
  const Placement& placement_;
  Lock& lock_;
};

Result<Block*> Space::allocate_slow(const Request& request, Pool& pool, const Placement& placement) {
  const std::lock_guard grow(grow_mutex_);
  Lock lock(heap_mutex_);
  if (pool.heap == nullptr) return Error{ErrorCode::invalid, "the pool was released meanwhile"};
  if (Block* block = pool.heap->find(placement); block != nullptr) return hand_out(block, request);
  SpaceClimber climber(*this, pool, placement, lock);
  climbing_ = &pool;
  const Climb climb = paged() ? climb_paged(climber) : climb_pytorch(climber);
  climbing_ = nullptr;
  if (climb.outcome == Outcome::served) return hand_out(climb.block, request);
  return refuse(request, pool, placement, climb, lock);
}

Error Space::refuse(const Request& request, const Pool& pool, const Placement& placement, const Climb& climb,
                    Lock& lock) {
  if (climb.outcome == Outcome::failed) return driver_error("getting a segment", climb.status);
  MemoryInfo device;
  {
    const Unlocked unlocked(lock);
    device = device_info();
  }
  const bool rejected = climb.outcome == Outcome::rejected;
  ++counters_[rejected ? Tally::num_oom_rejections : Tally::num_ooms];
  if (!rejected) record(Action::oom, {}, placement.size, placement.stream, pool.id, request.tag, device.free);
  const OutOfMemoryEvent event{request.size, placement.segment_size, ledger_locked(device)};
  Error error = rejected ? rejected_error(event.requested, event.segment, event.ledger)
                         : out_of_memory_error(event.requested, event.segment, event.ledger);
  const auto observers = oom_observers_;
  lock.unlock();
  for (const auto& observer : observers) observer(event);
  return error;
}

// The heaps' door to the driver
// ----------------------------------------------------------------------------------------

DriverStatus Space::allocate_segment(Segment& segment) {
  if (over_limit(segment.size)) return {DriverCode::out_of_memory};
  DriverResult<Address> got;
  {
    const Unlocked unlocked(heap_mutex_);
    got = driver_->memory().allocate_segment(segment.size);
  }
  if (!got) return got.status;
  segment.address = got.value;
  segment.number = static_cast<SegmentNumber>(next_segment_++);
  ++counters_[Tally::num_device_alloc];
  count(Metric::segment, segment.size_class, 1, *segment.pool);
  count(Metric::reserved_bytes, segment.size_class, static_cast<std::int64_t>(segment.size.count), *segment.pool);
  if (segment.size >= options_.max_split_size) counters_[Gauge::oversize_segments].up(1);
  record(Action::segment_alloc, segment.address, segment.size, segment.stream, segment.pool->id);
  return {};
}

DriverStatus Space::release_segment(const Segment& segment) {
  DriverStatus status;
  {
    const Unlocked unlocked(heap_mutex_);
    status = driver_->memory().release_segment(segment.address, segment.size);
  }
  // A driver that is shutting down has taken everything back already.
  if (status.code == DriverCode::gone) status = {};
  if (!status) return status;
  ++counters_[Tally::num_device_free];
  count(Metric::segment, segment.size_class, -1, *segment.pool);
  count(Metric::reserved_bytes, segment.size_class, -static_cast<std::int64_t>(segment.size.count), *segment.pool);
  if (segment.size >= options_.max_split_size) counters_[Gauge::oversize_segments].down(1);
  record(Action::segment_free, segment.address, segment.size, segment.stream, segment.pool->id);
  return {};
}

// Giving back
// ----------------------------------------------------------------------------------------------------------

Bytes Space::empty_cache() {
  const std::lock_guard grow(grow_mutex_);
  Lock lock(heap_mutex_);
  if (capture_seen()) return paged() ? Bytes{} : release_unused(nullptr, false);
  unpark(lock);
  wait_for_pending(lock);
  return release_unused(nullptr);
}

// The default pool (unless a capture forbids it), released pools, and `own_pool` if it is given.
Bytes Space::release_unused(const Pool* own_pool, bool default_pool) {
  Bytes released;
  for (auto& [id, pool] : pools_) {
    if (pool.heap == nullptr) continue;
    flush_front(pool);
    const bool idle = pool.use_count == 0 || &pool == own_pool || (default_pool && &pool == &default_pool_);
    if (idle) released += pool.heap->release_cached();
    if (pool.use_count == 0 && pool.heap->empty() && &pool != climbing_) erase_pool(pool);
  }
  return released;
}

// Limits
// ---------------------------------------------------------------------------------------------------------------

Bytes Space::reserved() const { return {static_cast<std::uint64_t>(counters_[Metric::reserved_bytes].all.current)}; }

bool Space::over_limit(Bytes segment) const {
  const Bytes most = limit();
  const Bytes held = reserved();
  return held > most || segment > most - held;
}

// Reserved bytes above this are garbage-collected; kUnlimited where that is off. Without a limit on the space the
// original does nothing (reference 5, H6).
Bytes Space::garbage_limit() const {
  if (options_.garbage_collection_threshold <= 0) return kUnlimited;
  if (fraction_limit_ != kUnlimited) return part_of(fraction_limit_, options_.garbage_collection_threshold);
  return options_.close_holes ? part_of(device_total_, options_.garbage_collection_threshold) : kUnlimited;
}

Status Space::set_memory_fraction(double fraction) {
  if (!(fraction >= 0.0 && fraction <= 1.0)) {
    return Error{ErrorCode::invalid, "memory fraction must lie between 0 and 1"};
  }
  const DriverResult<MemoryInfo> info = driver_->memory().info();
  if (!info) return driver_error("memory info", info.status);
  const Bytes total = info.value.total;
  const std::lock_guard lock(heap_mutex_);
  fraction_ = fraction;
  device_total_ = total;
  fraction_limit_ = fraction < 1.0 ? part_of(total, fraction) : kUnlimited;
  return Done{};
}

double Space::memory_fraction() const {
  const std::lock_guard lock(heap_mutex_);
  return fraction_;
}

MemoryInfo Space::device_info() const {
  const DriverResult<MemoryInfo> info = driver_->memory().info();
  return info ? info.value : MemoryInfo{};
}

// Settings
// -------------------------------------------------------------------------------------------------------------

Status Space::configure(std::string_view text) {
  const std::lock_guard lock(heap_mutex_);
  Result<Options> changed = reconfigure(text, options_, Origin::api);
  if (!changed) return changed.error();
  const bool fixed = changed->tie_break == options_.tie_break && changed->policy == options_.policy &&
                     changed->placement == options_.placement && changed->page_size == options_.page_size;
  if (!fixed) {
    return Error{ErrorCode::invalid,
                 "policy, placement, page_size_kb and tie_break can be set only when the space is opened"};
  }
  if (changed->expandable_segments && driver_->mapping() == nullptr) {
    return Error{ErrorCode::unsupported, "expandable_segments needs a driver that can map pages"};
  }
  options_ = *changed;
  return Done{};
}

Options Space::options() const {
  const std::lock_guard lock(heap_mutex_);
  return options_;
}

void Space::add_reclaim_callback(std::function<bool()> callback) {
  const std::lock_guard lock(heap_mutex_);
  reclaim_callbacks_.push_back(std::move(callback));
}

void Space::add_oom_observer(std::function<void(const OutOfMemoryEvent&)> observer) {
  const std::lock_guard lock(heap_mutex_);
  oom_observers_.push_back(std::move(observer));
}

}  // namespace quarry
