// Space: private pools and the scopes that send requests to them. Rules: reference/pytorch_allocator.md section 7,
// conformance/FINDINGS.md P1 to P3.
#include <algorithm>
#include <string>

#include <quarry/allocator/heap/page_heap.h>
#include <quarry/allocator/heap/segment_heap.h>
#include <quarry/allocator/space.h>

namespace quarry {
namespace {

Error pool_error(PoolId id, std::string_view what) {
  return {ErrorCode::invalid,
          "pool " + std::to_string(id.first) + "," + std::to_string(id.second) + " " + std::string(what)};
}

}  // namespace

void Space::make_heap(Pool& pool) {
  if (paged()) {
    pool.heap = std::make_unique<PageHeap>(*this, *arena_, pool);
  } else {
    pool.heap = std::make_unique<SegmentHeap>(*this, pool, options_.tie_break);
  }
}

// The pool of that id that has users or still holds segments; null if there is none.
Pool* Space::find_pool(PoolId id) {
  const auto found = pools_.find(id);
  return found == pools_.end() || found->second.heap == nullptr ? nullptr : &found->second;
}

const Pool* Space::find_pool(PoolId id) const { return const_cast<Space*>(this)->find_pool(id); }

// The last scope that takes the request; a pool named in the request comes first, and is null if nobody uses it.
Pool* Space::choose_pool(const Request& request) {
  if (request.pool != kDefaultPool) {
    Pool* pool = find_pool(request.pool);
    return pool != nullptr && pool->use_count > 0 ? pool : nullptr;
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const bool takes = scope->kind == PoolScope::process ||
                       (scope->kind == PoolScope::stream && scope->stream == request.stream.id()) ||
                       (scope->kind == PoolScope::thread && scope->thread == std::this_thread::get_id());
    if (takes) return &pools_.at(scope->pool);
  }
  return &default_pool_;
}

// Until the first private pool the default pool's counters are the space's; from then on each counts for itself.
void Space::split_rows() {
  if (rows_split_) return;
  default_pool_.counters = counters_;
  rows_split_ = true;
}

// A pool nobody uses cannot be taken up again until its last segment is gone.
Status Space::acquire_pool(PoolId id) {
  if (id == kDefaultPool) return pool_error(id, "is the default pool");
  split_rows();
  Pool& pool = pools_[id];
  pool.id = id;
  if (pool.heap == nullptr) {
    make_heap(pool);
  } else if (pool.use_count == 0) {
    return pool_error(id, "was released and still holds segments");
  }
  ++pool.use_count;
  return Done{};
}

void Space::erase_pool(Pool& pool) {
  pool.heap.reset();
  pool.no_split = false;
}

Status Space::create_pool(PoolId id) {
  const std::lock_guard lock(heap_mutex_);
  return acquire_pool(id);
}

Status Space::begin_pool(PoolId id, PoolScope kind, StreamId stream) {
  const std::lock_guard lock(heap_mutex_);
  if (Status acquired = acquire_pool(id); !acquired) return acquired;
  if (std::ranges::find(scopes_, id, &Scope::pool) != scopes_.end()) return pool_error(id, "has an open scope already");
  scopes_.push_back({id, kind, stream, std::this_thread::get_id()});
  return Done{};
}

Status Space::end_pool(PoolId id) {
  Lock lock(heap_mutex_);
  const auto scope = std::ranges::find(scopes_, id, &Scope::pool);
  if (scope == scopes_.end()) return pool_error(id, "has no open scope");
  scopes_.erase(scope);
  if (options_.graph_capture_record_stream_reuse) unpark(lock, &pools_.at(id));
  return Done{};
}

Status Space::release_pool(PoolId id) {
  const std::lock_guard lock(heap_mutex_);
  Pool* pool = id == kDefaultPool ? nullptr : find_pool(id);
  if (pool == nullptr || pool->use_count == 0) return pool_error(id, "has no user");
  --pool->use_count;
  return Done{};
}

Result<std::uint64_t> Space::pool_use_count(PoolId id) const {
  const std::lock_guard lock(heap_mutex_);
  const Pool* pool = find_pool(id);
  if (pool == nullptr) return pool_error(id, "does not exist");
  return pool->use_count;
}

Status Space::set_pool_no_split(PoolId id) {
  const std::lock_guard lock(heap_mutex_);
  Pool* pool = id == kDefaultPool ? nullptr : find_pool(id);
  if (pool == nullptr) return pool_error(id, "does not exist");
  pool->no_split = true;
  return Done{};
}

void Space::set_pool_use_on_oom(PoolId id) {
  const std::lock_guard lock(heap_mutex_);
  if (id == kDefaultPool) return;
  pools_[id].id = id;
  pools_[id].use_on_oom = true;
}

Result<Bytes> Space::empty_pool(PoolId id) {
  const std::lock_guard grow(grow_mutex_);
  Lock lock(heap_mutex_);
  if (capture_seen()) return pool_error(id, "cannot be emptied during a capture");
  Pool* pool = id == kDefaultPool ? nullptr : find_pool(id);
  if (pool == nullptr || pool->use_count != 0) return Bytes{};
  unpark(lock);
  wait_for_pending(lock, pool);
  flush_front(*pool);
  const Bytes released = pool->heap->release_cached();
  if (pool->heap->empty()) erase_pool(*pool);
  return released;
}

Result<Counters> Space::counters(PoolId id) const {
  const std::lock_guard lock(heap_mutex_);
  if (id == kDefaultPool && !rows_split_) return counters_;
  const auto found = pools_.find(id);
  if (found == pools_.end()) return pool_error(id, "was never used");
  return found->second.counters;
}

}  // namespace quarry
