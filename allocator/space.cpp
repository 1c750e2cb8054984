// Space: life, and the paths of a request that hits and of a free.
#include <quarry/allocator/space.h>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/page_rules.h>
#include <quarry/allocator/planted_race.h>
#include <quarry/allocator/space_errors.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {
namespace {

Status check_pages(Driver& driver, const Options& options) {
  if (options.policy != Policy::paged || driver.mapping() == nullptr) return Done{};
  const Bytes smallest = driver.memory().capabilities().page_size;
  if (options.page_size.count % smallest.count == 0) return Done{};
  return Error{ErrorCode::invalid,
               "page_size_kb must be a multiple of the driver's " + std::to_string(smallest.count >> 10) + " KiB"};
}

}  // namespace

// Life ---------------------------------------------------------------------------------------------------------------

Result<Space*> Space::open(std::shared_ptr<Driver> driver, const Options& options) {
  QUARRY_CHECK(driver != nullptr, "open needs a driver");
  if (const DriverResult<MemoryInfo> info = driver->memory().info(); !info)
    return driver_error("memory info", info.status);
  if (options.expandable_segments && driver->mapping() == nullptr) {
    return Error{ErrorCode::unsupported, "expandable_segments needs a driver that can map pages"};
  }
  if (Status sound = check_pages(*driver, options); !sound) return sound.error();
  auto* space = new Space(std::move(driver), options);
  if (Status set = space->set_memory_fraction(options.per_process_memory_fraction); !set) {
    delete space;
    return set.error();
  }
  return space;
}

Space::Space(std::shared_ptr<Driver> driver, const Options& options)
    : driver_(std::move(driver)),
      host_stream_(driver_->host_stream()),
      event_pool_(driver_->ordering()),
      page_mapper_(driver_->mapping()),
      options_(options),
      clock_(driver_->ordering() != nullptr),
      default_pool_(pools_[kDefaultPool]),
      streams_(host_stream_) {
  default_pool_.use_count = 1;
  if (options_.policy == Policy::paged) {
    arena_ = std::make_unique<PageArena>(*this, options_.page_size, driver_->mapping() != nullptr);
  }
  make_heap(default_pool_);
  if (options.max_split_size != kUnlimited) {
    counters_.max_split_size = static_cast<std::int64_t>(options.max_split_size.count);
  }
}

Space::~Space() {
  // Nobody knows the space any more; the locks are taken for the heaps' sake.
  const std::lock_guard grow(grow_mutex_);
  Lock lock(heap_mutex_);
  observer_ = nullptr;
  scopes_.clear();  // and with them every capture
  unpark(lock);
  wait_for_pending(lock);
  for (auto& [id, pool] : pools_) {
    pool.use_count = 0;  // addresses without pages go too
    flush_front(pool);
    if (pool.heap != nullptr) pool.heap->release_cached();
  }
  for (const StreamId stream : clock_.open()) drop_events(stream);
}

void Space::drop_handle() {
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Lock lock(heap_mutex_);
  abandoned_ = true;
  const bool last = last_out();
  lock.unlock();
  if (last) delete this;
}

// Requests -----------------------------------------------------------------------------------------------------------

// The fast path: round, search, cut, count. One lock, no driver call unless another stream's free is pending.
Result<Block*> Space::allocate(const Request& request) {
  Lock lock(heap_mutex_);
  const StreamId stream = request.stream.id();
  QUARRY_CHECK(streams_.at(stream).state == StreamTable::State::open, "a request on a retired stream");
  if (!pending_.no_events() || !pending_.parked.empty()) [[unlikely]]
    settle(lock);
  Pool* pool = scopes_.empty() && request.pool == kDefaultPool ? &default_pool_ : choose_pool(request);
  if (pool == nullptr || pool->heap == nullptr) return Error{ErrorCode::invalid, "no such pool is in use"};
  if (paged()) clock_.note_request(stream);
  const bool as_it_is = paged() && !request.contiguous && !pool->no_split;
  if (Block* block = as_it_is ? pool->front.take(stream, paged_size(request.size)) : nullptr; block != nullptr) {
    return hand_out(block, request);
  }
  // What no request of its size has taken at once goes back, so that the heap places by all there is.
  if (paged()) pool->front.flush(stream, [&](Block* block) { pool->heap->insert(block); });
  Placement placement = pool->heap->plan(request.size, stream);
  if (request.contiguous && paged()) {
    placement.size = placement.segment_size;
    placement.whole = true;
  }
  if (garbage_limit() != kUnlimited) pool->heap->note_search(placement);
  if (Block* block = pool->heap->find(placement); block != nullptr) return hand_out(block, request);
  QUARRY_PLANTED(merged_lists, if (Block* block = take_merged(placement, lock)) return hand_out(block, request));
  lock.unlock();
  return allocate_slow(request, *pool, placement);
}

Block* Space::hand_out(Block* block, const Request& request) {
  block->requested = request.size;
  block->uses = nullptr;
  block->tag = request.tag;
  count_live(*block);
  live_.insert(block);
  record(Action::alloc, block->address, request.size, block->segment->stream, block->segment->pool->id, request.tag);
  QUARRY_EXPENSIVE(QUARRY_CHECK(sound(*block->segment->pool), "heap broken after a request"));
  return block;
}

void Space::count_live(const Block& block) {
  const SizeClass size_class = block.segment->size_class;
  Pool& pool = *block.segment->pool;
  const auto size = static_cast<std::int64_t>(block.size.count);
  const auto requested = static_cast<std::int64_t>(block.requested.count);
  count(Metric::allocation, size_class, 1, pool);
  count(Metric::allocated_bytes, size_class, size, pool);
  count(Metric::active, size_class, 1, pool);
  count(Metric::active_bytes, size_class, size, pool);
  count(Metric::requested_bytes, size_class, requested, pool);
  requested_live_.up(requested);
  if (block.size >= options_.max_split_size) counters_[Gauge::oversize_allocations].up(1);
}

// Frees --------------------------------------------------------------------------------------------------------------

void Space::free(Block* block) {
  Lock lock(heap_mutex_);
  QUARRY_CHECK(block->state == BlockState::live, "freed twice");
  take_back(block, std::move(lock));
}

void Space::free(Address address, const Request* claim) {
  Lock lock(heap_mutex_);
  Block* block = live_.find(address);
  QUARRY_CHECK(block != nullptr, "no live block starts at this pointer");
  if (claim != nullptr) {
    QUARRY_CHECK(block->requested == claim->size, "freed with another size than it was requested with");
    QUARRY_CHECK(block->segment->stream == claim->stream.id(), "freed on another stream than it was requested on");
  }
  take_back(block, std::move(lock));
}

// What drops when the caller frees; the rest drops in complete, at once unless other streams used the block.
void Space::take_back(Block* block, Lock lock) {
  const SizeClass size_class = block->segment->size_class;
  Pool& pool = *block->segment->pool;
  live_.erase(block);
  count(Metric::allocation, size_class, -1, pool);
  count(Metric::allocated_bytes, size_class, -static_cast<std::int64_t>(block->size.count), pool);
  requested_live_.down(static_cast<std::int64_t>(block->requested.count));
  if (block->size >= options_.max_split_size) counters_[Gauge::oversize_allocations].down(1);
  record(Action::free_requested, block->address, block->requested, block->segment->stream, pool.id, block->tag);
  if (block->uses == nullptr) {
    complete(block);
  } else {
    defer(block, lock);
  }
  const bool last = last_out();
  lock.unlock();
  if (last) delete this;
}

// What drops when the bytes may be used again.
void Space::complete(Block* block) {
  const SizeClass size_class = block->segment->size_class;
  Pool& pool = *block->segment->pool;
  record(Action::free_completed, block->address, block->requested, block->segment->stream, pool.id, block->tag);
  count(Metric::active, size_class, -1, pool);
  count(Metric::active_bytes, size_class, -static_cast<std::int64_t>(block->size.count), pool);
  count(Metric::requested_bytes, size_class, -static_cast<std::int64_t>(block->requested.count), pool);
  if (!paged() || !arena_->place_of(block->address) || !pool.front.put(block)) pool.heap->insert(block);
  QUARRY_EXPENSIVE(QUARRY_CHECK(sound(pool), "heap broken after a free"));
}

// A walk costs as much as there are blocks, so that it is made less often the more there are: after every operation up
// to kWalkedAlways.
bool Space::sound(const Pool& pool) {
  constexpr std::size_t kWalkedAlways = 256;
  if (++unwalked_ * kWalkedAlways < live_.size()) return true;
  unwalked_ = 0;
  return pool.heap->validate().empty();
}

void Space::record(Action action, Address address, Bytes size, StreamId stream, PoolId pool, Tag tag,
                   Bytes device_free) {
  if (observer_ == nullptr) [[likely]]
    return;
  observer_->on_record({++sequence_, action, address, size, stream, pool, tag, device_free});
}

void Space::set_observer(Observer* observer) {
  const std::lock_guard lock(heap_mutex_);
  observer_ = observer;
}

}  // namespace quarry
