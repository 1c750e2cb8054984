// Space: who has waited for whose frees, in the paged policy. The clock keeps the numbers, the heaps the ranges; events
// are recorded, asked for and waited for here.
//
// record_frees and make_wait call the driver under the heap lock, on purpose: a range must not be seen by a stream
// before the wait that makes it safe is queued, and an event must cover exactly the frees it is said to. Both only
// queue and cannot block, and they are rare: one event for 64 frees, one wait instead of getting pages.
#include <algorithm>

#include <quarry/allocator/space.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {

void Space::note_wait(StreamId waiter, StreamId on) {
  const std::lock_guard lock(heap_mutex_);
  clock_.couple(waiter, on);
  if (!paged() || waiter == on) return;
  // What waits in the front caches was freed before the wait too.
  for (auto& [id, pool] : pools_) {
    if (pool.heap != nullptr) pool.front.flush(on, [&](Block* block) { pool.heap->insert(block); });
  }
  set_synced(waiter, on, clock_.frees(on));
  // What `on` had waited for, the waiter has now waited for as well.
  const auto waits = clock_.waits(on);
  for (const StreamClock::Wait wait : std::vector(waits.begin(), waits.end())) {
    if (wait.on != waiter) set_synced(waiter, wait.on, wait.number);
  }
}

void Space::set_synced(StreamId waiter, StreamId on, std::uint64_t number) {
  const std::uint64_t before = clock_.synced(waiter, on);
  if (number <= before) return;
  clock_.set_synced(waiter, on, number);
  for (auto& [id, pool] : pools_) {
    if (pool.heap != nullptr) pool.heap->synchronized(waiter, on, before);
  }
}

void Space::set_complete(StreamId stream, std::uint64_t number) {
  if (number <= clock_.complete(stream)) return;
  clock_.set_complete(stream, number);
  for (auto& [id, pool] : pools_) {
    if (pool.heap != nullptr) pool.heap->completed(stream);
  }
}

// All its work was seen complete, and it asks for nothing any more.
void Space::forget_stream(StreamId stream) {
  for (auto& [id, pool] : pools_) {
    if (pool.heap != nullptr) pool.front.flush(stream, [&](Block* block) { pool.heap->insert(block); });
  }
  set_complete(stream, clock_.frees(stream));
  drop_events(stream);
  clock_.close(stream);
  for (auto& [id, pool] : pools_) {
    pool.front.forget(stream);
    if (pool.heap != nullptr) pool.heap->retired(stream);
  }
}

void Space::flush_front(Pool& pool) {
  if (pool.heap != nullptr) pool.front.flush_all([&](Block* block) { pool.heap->insert(block); });
}

void Space::flush_fronts() {
  for (auto& [id, pool] : pools_) flush_front(pool);
}

// What an event sets free may go to a front cache first, so those are emptied after the events were looked at.
void Space::look_again(Lock& lock) {
  const bool looks = driver_->ordering() != nullptr && !capture_seen();
  if (looks) unpark(lock);
  if (looks && !pending_.no_events()) poll_events(lock);
  flush_fronts();
  if (looks) poll_frees(lock);
}

bool Space::may_order() { return driver_->ordering() != nullptr && !capture_seen(true); }

// Frees during a capture are covered when it is over.
bool Space::record_frees(StreamId stream) {
  Ordering* ordering = driver_->ordering();
  const StreamTable::Entry entry = streams_.at(stream);
  if (ordering == nullptr || entry.state != StreamTable::State::open || may_be_captured(stream)) return false;
  void* handle = reinterpret_cast<void*>(entry.handle);
  const DriverResult<EventHandle> event = event_pool_.take();
  if (!event) return false;
  if (!ordering->record(event.value, handle)) {
    event_pool_.put(event.value);
    return false;
  }
  clock_.recorded(stream, event.value);
  // Looked at as often as recorded, so that events and records stay few. Another thread may be looking already.
  const std::unique_lock events(event_mutex_, std::try_to_lock);
  if (events && ordering->query(clock_.oldest(stream)->event)) drop_finished(stream);
  return true;
}

void Space::drop_finished(StreamId stream) {
  const StreamClock::Event event = *clock_.oldest(stream);
  clock_.drop_oldest(stream);
  event_pool_.put(event.event);
  set_complete(stream, event.covers);
}

bool Space::make_wait(StreamId waiter, StreamId on, std::uint64_t number) {
  const StreamTable::Entry entry = streams_.at(waiter);
  if (entry.state != StreamTable::State::open) return false;
  if (!clock_.covering(on, number) && !record_frees(on)) return false;
  const std::optional<StreamClock::Event> event = clock_.covering(on, number);
  if (!event) return clock_.complete(on) >= number;
  if (!driver_->ordering()->wait_on_stream(reinterpret_cast<void*>(entry.handle), event->event)) return false;
  ++counters_[Tally::num_stream_waits];
  set_synced(waiter, on, event->covers);
  return true;
}

// Frees that no event covers yet get one; finished events let every stream use what their frees gave back.
void Space::poll_frees(Lock& lock) {
  if (!clock_.several()) return;
  const std::vector<StreamId> open = clock_.open();
  for (const StreamId stream : open) {
    if (clock_.frees(stream) > std::max(clock_.covered(stream), clock_.complete(stream))) (void)record_frees(stream);
  }
  const std::unique_lock events(event_mutex_, std::try_to_lock);
  if (!events) return;
  for (const StreamId stream : open) {
    while (const std::optional<StreamClock::Event> oldest = clock_.oldest(stream)) {
      DriverStatus finished;
      {
        const Unlocked unlocked(lock);
        finished = driver_->ordering()->query(oldest->event);
      }
      if (!finished) break;
      drop_finished(stream);
    }
  }
}

std::vector<std::pair<StreamId, std::uint64_t>> Space::open_frees() const {
  std::vector<std::pair<StreamId, std::uint64_t>> frees;
  for (const StreamId stream : clock_.open()) frees.emplace_back(stream, clock_.frees(stream));
  return frees;
}

// The host waits for the work before every free so far. Where it cannot, the ranges stay with their streams.
void Space::wait_for_frees() {
  for (const auto& [stream, frees] : open_frees()) {
    if (clock_.complete(stream) < frees && wait_for_owner(stream)) set_complete(stream, frees);
  }
}

// Nobody will ask for these events any more.
void Space::drop_events(StreamId stream) {
  while (const std::optional<StreamClock::Event> oldest = clock_.oldest(stream)) {
    clock_.drop_oldest(stream);
    event_pool_.put(oldest->event);
  }
}

bool Space::quiesce() {
  Ordering* ordering = driver_->ordering();
  if (ordering == nullptr) return true;
  const auto before = open_frees();
  DriverStatus waited;
  {
    const Unlocked unlocked(heap_mutex_);
    waited = ordering->synchronize_device();
  }
  if (!waited && waited.code != DriverCode::gone) return false;
  for (const auto& [stream, frees] : before) set_complete(stream, frees);
  return true;
}

}  // namespace quarry
