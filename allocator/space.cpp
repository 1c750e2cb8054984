#include <quarry/allocator/space.h>

#include <cmath>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/pytorch_rules.h>
#include <quarry/allocator/heap/segment_heap.h>
#include <quarry/allocator/reclaim/ladder.h>
#include <quarry/allocator/space_errors.h>

namespace quarry {
namespace {

// Drops a held lock for the length of a driver call.
class Unlocked {
 public:
  explicit Unlocked(std::mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::mutex& mutex_;
};

std::int64_t signed_count(Bytes n) { return static_cast<std::int64_t>(n.count); }

}  // namespace

// Life ---------------------------------------------------------------------------------------------------------------

Result<Space*> Space::open(std::shared_ptr<Driver> driver, const Options& options) {
  QUARRY_CHECK(driver != nullptr, "open needs a driver");
  if (const DriverResult<MemoryInfo> info = driver->memory().info(); !info)
    return driver_error("memory info", info.status);
  auto* space = new Space(std::move(driver), options);
  if (Status set = space->apply_fraction(options.per_process_memory_fraction); !set) {
    delete space;
    return set.error();
  }
  return space;
}

Space::Space(std::shared_ptr<Driver> driver, const Options& options)
    : driver_(std::move(driver)), device_name_(driver_->memory().capabilities().name), options_(options) {
  heap_ = std::make_unique<SegmentHeap>(*this, options.tie_break);
  if (options.max_split_size != kUnlimited) counters_.max_split_size = signed_count(options.max_split_size);
}

Space::~Space() {
  // Nothing is live and nobody knows the space any more; the locks are taken for the heap's sake.
  const std::lock_guard grow(grow_mutex_);
  const std::lock_guard lock(heap_mutex_);
  observer_ = nullptr;
  heap_->release_cached();
}

void Space::drop_handle() {
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::unique_lock lock(heap_mutex_);
  abandoned_ = true;
  const bool last = live_.size() == 0;
  lock.unlock();
  if (last) delete this;
}

// Requests -----------------------------------------------------------------------------------------------------------

// The fast path: round, search, cut, count. One lock, no driver call.
Result<Block*> Space::allocate(const Request& request) {
  std::unique_lock lock(heap_mutex_);
  const Placement placement = heap_->plan(request.size, request.stream.id());
  if (Block* block = heap_->find(placement); block != nullptr) return hand_out(block, request);
  lock.unlock();
  return allocate_slow(request, placement);
}

Result<Block*> Space::allocate_slow(const Request& request, const Placement& placement) {
  const std::lock_guard grow(grow_mutex_);
  std::unique_lock lock(heap_mutex_);
  if (Block* block = heap_->find(placement); block != nullptr) return hand_out(block, request);
  const DriverResult<Block*> grown = grow_or_reclaim(pytorch_rungs(), *heap_, placement, counters_);
  if (grown) return hand_out(grown.value, request);
  return refuse(request, placement, grown.status, lock);
}

// `lock` holds heap_mutex_.
Error Space::refuse(const Request& request, const Placement& placement, DriverStatus status,
                    std::unique_lock<std::mutex>& lock) {
  if (status.code != DriverCode::out_of_memory) return driver_error("getting a segment", status);
  lock.unlock();
  const MemoryInfo device = device_info();
  lock.lock();
  ++counters_[Tally::num_ooms];
  record(Action::oom, {}, placement.size, placement.stream, request.tag, device.free);
  const Ledger ledger = ledger_locked(device);
  lock.unlock();
  return out_of_memory_error(request.size, placement.segment_size, ledger);
}

Block* Space::hand_out(Block* block, const Request& request) {
  block->requested = request.size;
  block->uses = nullptr;
  block->tag = request.tag;
  count_live(*block);
  live_.insert(block);
  record(Action::alloc, block->address, request.size, block->segment->stream, request.tag);
  QUARRY_EXPENSIVE(QUARRY_CHECK(heap_->validate().empty(), "heap broken after a request"));
  return block;
}

void Space::count_live(const Block& block) {
  const SizeClass size_class = block.segment->size_class;
  const std::int64_t size = signed_count(block.size);
  const std::int64_t requested = signed_count(block.requested);
  counters_.change(Metric::allocation, size_class, 1);
  counters_.change(Metric::allocated_bytes, size_class, size);
  counters_.change(Metric::active, size_class, 1);
  counters_.change(Metric::active_bytes, size_class, size);
  counters_.change(Metric::requested_bytes, size_class, requested);
  requested_live_.up(requested);
  if (block.size >= options_.max_split_size) counters_[Gauge::oversize_allocations].up(1);
}

void Space::free(Block* block) {
  std::unique_lock lock(heap_mutex_);
  QUARRY_CHECK(block->state == BlockState::live, "freed twice");
  take_back(block, std::move(lock));
}

void Space::free(Address address, const Request* claim) {
  std::unique_lock lock(heap_mutex_);
  Block* block = live_.find(address);
  QUARRY_CHECK(block != nullptr, "no live block starts at this pointer");
  if (claim != nullptr) {
    QUARRY_CHECK(block->requested == claim->size, "freed with another size than it was requested with");
    QUARRY_CHECK(block->segment->stream == claim->stream.id(), "freed on another stream than it was requested on");
  }
  take_back(block, std::move(lock));
}

// Two halves: what drops when the caller frees, and what drops when the bytes may be used again. `lock` is the heap's.
void Space::take_back(Block* block, std::unique_lock<std::mutex> lock) {
  const SizeClass size_class = block->segment->size_class;
  const StreamId stream = block->segment->stream;
  const std::int64_t size = signed_count(block->size);
  const std::int64_t requested = signed_count(block->requested);
  live_.erase(block);
  counters_.change(Metric::allocation, size_class, -1);
  counters_.change(Metric::allocated_bytes, size_class, -size);
  requested_live_.down(requested);
  if (block->size >= options_.max_split_size) counters_[Gauge::oversize_allocations].down(1);
  record(Action::free_requested, block->address, block->requested, stream, block->tag);

  record(Action::free_completed, block->address, block->requested, stream, block->tag);
  counters_.change(Metric::active, size_class, -1);
  counters_.change(Metric::active_bytes, size_class, -size);
  counters_.change(Metric::requested_bytes, size_class, -requested);
  heap_->insert(block);
  QUARRY_EXPENSIVE(QUARRY_CHECK(heap_->validate().empty(), "heap broken after a free"));
  const bool last = abandoned_ && live_.size() == 0;
  lock.unlock();
  if (last) delete this;
}

void Space::record(Action action, Address address, Bytes size, StreamId stream, Tag tag, Bytes device_free) {
  if (observer_ == nullptr) [[likely]]
    return;
  observer_->on_record({++sequence_, action, address, size, stream, kDefaultPool, tag, device_free});
}

// The heap's door to the driver ---------------------------------------------------------------------------------------

DriverStatus Space::allocate_segment(Segment& segment) {
  const Bytes limit = std::min(fraction_limit_, options_.memory_limit);
  const Bytes reserved{static_cast<std::uint64_t>(counters_[Metric::reserved_bytes].all.current)};
  if (reserved > limit || segment.size > limit - reserved) return {DriverCode::out_of_memory};
  DriverResult<Address> got;
  {
    const Unlocked unlocked(heap_mutex_);
    got = driver_->memory().allocate_segment(segment.size);
  }
  if (!got) return got.status;
  segment.address = got.value;
  segment.number = static_cast<SegmentNumber>(next_segment_++);
  ++counters_[Tally::num_device_alloc];
  counters_.change(Metric::segment, segment.size_class, 1);
  counters_.change(Metric::reserved_bytes, segment.size_class, signed_count(segment.size));
  if (segment.size >= options_.max_split_size) counters_[Gauge::oversize_segments].up(1);
  record(Action::segment_alloc, segment.address, segment.size, segment.stream);
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
  counters_.change(Metric::segment, segment.size_class, -1);
  counters_.change(Metric::reserved_bytes, segment.size_class, -signed_count(segment.size));
  if (segment.size >= options_.max_split_size) counters_[Gauge::oversize_segments].down(1);
  record(Action::segment_free, segment.address, segment.size, segment.stream);
  return {};
}

Bytes Space::empty_cache() {
  const std::lock_guard grow(grow_mutex_);
  const std::lock_guard lock(heap_mutex_);
  ++counters_[Tally::num_sync_all_streams];
  return heap_->release_cached();
}

// Settings -----------------------------------------------------------------------------------------------------------

Status Space::configure(std::string_view text) {
  const std::lock_guard lock(heap_mutex_);
  Result<Options> changed = reconfigure(text, options_, Origin::api);
  if (!changed) return changed.error();
  if (changed->tie_break != options_.tie_break || changed->policy != options_.policy) {
    return Error{ErrorCode::invalid, "policy and tie_break can be set only when the space is opened"};
  }
  options_ = *changed;
  return Done{};
}

Options Space::options() const {
  const std::lock_guard lock(heap_mutex_);
  return options_;
}

Status Space::set_memory_fraction(double fraction) { return apply_fraction(fraction); }

Status Space::apply_fraction(double fraction) {
  if (!(fraction >= 0.0 && fraction <= 1.0)) {
    return Error{ErrorCode::invalid, "memory fraction must lie between 0 and 1"};
  }
  const DriverResult<MemoryInfo> info = driver_->memory().info();
  if (!info) return driver_error("memory info", info.status);
  const Bytes total = info.value.total;
  const std::lock_guard lock(heap_mutex_);
  fraction_ = fraction;
  const bool bounded = fraction < 1.0 && total != kUnlimited;
  fraction_limit_ =
      bounded ? Bytes{static_cast<std::uint64_t>(std::floor(fraction * static_cast<double>(total.count)))} : kUnlimited;
  return Done{};
}

double Space::memory_fraction() const {
  const std::lock_guard lock(heap_mutex_);
  return fraction_;
}

StreamId Space::resolve_stream(void* handle) {
  const std::lock_guard lock(heap_mutex_);
  return streams_.resolve(reinterpret_cast<std::uint64_t>(handle));
}

void Space::set_observer(Observer* observer) {
  const std::lock_guard lock(heap_mutex_);
  observer_ = observer;
}

}  // namespace quarry
