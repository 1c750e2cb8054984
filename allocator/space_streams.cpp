// Space: streams, pending frees and captures.
#include <quarry/allocator/check.h>
#include <quarry/allocator/planted_race.h>
#include <quarry/allocator/space.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {
namespace {

// The stream this thread queues work on, for each space it told so.
struct CurrentStream {
  std::weak_ptr<const char> life;
  const char* space;  // not used again by another while `life` is there
  StreamId stream;
};
thread_local std::vector<CurrentStream> current_streams;

StreamId current_stream(const std::shared_ptr<const char>& life) {
  for (const CurrentStream& current : current_streams) {
    if (current.space == life.get()) return current.stream;
  }
  return kDefaultStream;
}

}  // namespace

// Identity
// --------------------------------------------------------------------------------------------------------------

StreamId Space::resolve_stream(void* handle) {
  std::uint64_t identity = 0;
  if (Ordering* ordering = driver_->ordering(); ordering != nullptr && handle != nullptr && handle != host_stream_) {
    if (const DriverResult<std::uint64_t> known = ordering->stream_identity(handle)) identity = known.value;
  }
  const std::lock_guard lock(heap_mutex_);
  return streams_.resolve(reinterpret_cast<std::uint64_t>(handle), identity);
}

void Space::make_current(StreamId stream) {
  for (CurrentStream& current : current_streams) {
    if (current.space == life_.get()) {
      current.stream = stream;
      return;
    }
  }
  // A thread that outlives many spaces keeps nothing of them.
  std::erase_if(current_streams, [](const CurrentStream& current) { return current.life.expired(); });
  current_streams.push_back({life_, life_.get(), stream});
}

void Space::retire_stream(StreamId stream) {
  Lock lock(heap_mutex_);
  const StreamTable::Entry entry = streams_.at(stream);
  QUARRY_CHECK(stream != kDefaultStream && entry.handle != 0, "the default stream cannot be retired");
  if (entry.state != StreamTable::State::open) return;
  if (Ordering* ordering = driver_->ordering(); ordering != nullptr) {
    DriverStatus waited;
    {
      const Unlocked unlocked(lock);
      waited = ordering->synchronize_stream(reinterpret_cast<void*>(entry.handle));
    }
    streams_.retire(stream, waited ? StreamTable::State::retired : StreamTable::State::lost);
    if (!waited) return;
  } else {
    streams_.retire(stream, StreamTable::State::retired);
  }
  if (paged()) forget_stream(stream);
}

// Uses
// ------------------------------------------------------------------------------------------------------------------

void Space::used_on(Block* block, StreamId stream) {
  Lock lock(heap_mutex_);
  QUARRY_CHECK(block->state == BlockState::live, "used after it was freed");
  if (block->segment->stream != stream) add_use(block, stream);
}

void Space::used_on(Address address, StreamId stream) {
  Lock lock(heap_mutex_);
  Block* block = live_.find(address);
  if (block != nullptr && block->segment->stream != stream) add_use(block, stream);
}

// The caller owns the block, so it stays where it is while the lock is dropped for the question about captures. A use
// that may have been in a capture counts as one outside: it gets its event in any case. So does the use by a capturing
// thread on a stream that takes no part.
void Space::add_use(Block* block, StreamId stream) {
  const bool captured = capture_seen(false) && in_capture(stream).value;
  StreamUse** link = &block->uses;
  for (; *link != nullptr; link = &(*link)->next) {
    if ((*link)->stream == stream) break;
  }
  if (*link == nullptr) {
    *link = uses_.make();
    (*link)->stream = stream;
  }
  (*link)->captured = (*link)->captured || captured;
  if (paged()) clock_.couple(block->segment->stream, stream);
}

// Drops all uses of the block, or those that were noted inside a capture.
void Space::drop_uses(Block* block, bool only_captured) {
  StreamUse** link = &block->uses;
  while (*link != nullptr) {
    StreamUse* use = *link;
    if (only_captured && !use->captured) {
      link = &use->next;
      continue;
    }
    *link = use->next;
    uses_.drop(use);
  }
}

// Captures
// --------------------------------------------------------------------------------------------------------------

// A capture is open for this thread when a pool scope is and the thread's current stream takes part in a capture
// (findings 1).
bool Space::capture_seen(bool unknown) const {
  if (scopes_.empty() || driver_->ordering() == nullptr) return false;
  const DriverResult<bool> open = in_capture(current_stream(life_));
  if (!open) return unknown && open.status.code != DriverCode::gone;
  return open.value;
}

// The lock is dropped for the question.
DriverResult<bool> Space::in_capture(StreamId stream) const {
  const StreamTable::Entry entry = streams_.at(stream);
  const Unlocked unlocked(heap_mutex_);
  return driver_->ordering()->capture_open(reinterpret_cast<void*>(entry.handle));
}

// A capture that another thread sees. Not without a scope, nor where the stream is gone.
bool Space::still_captured(const PendingFrees::Parked& parked) const {
  if (scopes_.empty()) return false;
  const DriverResult<bool> open = in_capture(parked.capturing);
  if (!open) return open.status.code != DriverCode::gone && open.status.code != DriverCode::invalid;
  return open.value;
}

// The stream takes part in a capture, or this thread sees one, as far as is known. Asked with the heap lock held.
bool Space::may_be_captured(StreamId stream) const {
  const auto open = [&](StreamId asked) {
    void* handle = reinterpret_cast<void*>(streams_.at(asked).handle);
    const DriverResult<bool> capturing = driver_->ordering()->capture_open(handle);
    return !capturing || capturing.value;
  };
  return open(stream) || (!scopes_.empty() && open(current_stream(life_)));
}

// Parked blocks lose the uses of the capture, once it is over; what was noted outside gets real events.
void Space::unpark(Lock& lock, const Pool* only) {
  std::vector<PendingFrees::Parked> parked;
  std::swap(parked, pending_.parked);
  for (const PendingFrees::Parked& one : parked) {
    Block* const block = one.block;
    if ((only != nullptr && block->segment->pool != only) || still_captured(one)) {
      pending_.parked.push_back(one);
      continue;
    }
    drop_uses(block, true);
    if (block->uses == nullptr) {
      complete(block);
    } else {
      record_events(block, lock);
    }
  }
}

// Pending frees
// -----------------------------------------------------------------------------------------------------------

// Before a search, when anything is pending: what has finished comes back first. Not inside a capture.
void Space::settle(Lock& lock) {
  if (capture_seen()) return;
  unpark(lock);
  poll_events(lock);
}

// The block is nobody's while it is pending: not live, not free, in no index. So it stays while the lock is dropped.
void Space::defer(Block* block, Lock& lock) {
  block->state = BlockState::pending;
  if (driver_->ordering() == nullptr) {
    drop_uses(block, false);
    complete(block);
    return;
  }
  ++busy_;
  if (capture_seen()) {
    pending_.parked.push_back({block, current_stream(life_)});
  } else {
    record_events(block, lock);
  }
  --busy_;
}

// One event for each stream that used the block, recorded before the block can be seen by anyone who might reuse it.
void Space::record_events(Block* block, Lock& lock) {
  Ordering& ordering = *driver_->ordering();
  bool unordered = false;
  std::vector<std::pair<StreamId, void*>> streams;
  for (const StreamUse* use = block->uses; use != nullptr; use = use->next) {
    const StreamTable::Entry& entry = streams_.at(use->stream);
    if (entry.state == StreamTable::State::open) {
      streams.emplace_back(use->stream, reinterpret_cast<void*>(entry.handle));
    } else if (entry.state == StreamTable::State::lost) {
      unordered = true;
    }
  }
  drop_uses(block, false);
  QUARRY_PLANTED(early_free, complete(block));
  std::vector<std::pair<StreamId, EventHandle>> recorded;
  {
    const Unlocked unlocked(lock);
    for (const auto& [stream, handle] : streams) {
      const DriverResult<EventHandle> event = event_pool_.take();
      if (event && ordering.record(event.value, handle)) {
        recorded.emplace_back(stream, event.value);
        continue;
      }
      if (event) event_pool_.put(event.value);
      unordered = true;
    }
  }
  QUARRY_PLANTED(early_free, { return; });
  for (const auto& [stream, event] : recorded) pending_.push(stream, {event, block});
  block->pending_events = static_cast<std::uint16_t>(recorded.size() + (unordered ? 1 : 0));
  if (unordered) pending_.unordered.push_back(block);
  if (block->pending_events == 0) complete(block);
}

// The nth event of `stream` is finished.
void Space::event_finished(StreamId stream, std::size_t nth) {
  const PendingFrees::Event event = *pending_.nth(stream, nth);
  pending_.remove(stream, nth);
  event_pool_.put(event.event);
  if (--event.block->pending_events == 0) complete(event.block);
}

void Space::poll_events(Lock& lock) {
  const std::unique_lock events(event_mutex_, std::try_to_lock);
  if (!events) return;
  for (const StreamId stream : pending_.streams()) {
    while (const PendingFrees::Event* first = pending_.nth(stream, 0)) {
      const EventHandle event = first->event;
      DriverStatus finished;
      {
        const Unlocked unlocked(lock);
        finished = driver_->ordering()->query(event);
      }
      if (finished.code == DriverCode::invalid) {
        abandon_event(stream, 0);
        continue;
      }
      if (!finished) break;
      event_finished(stream);
    }
  }
}

// An event recorded inside a capture can never be asked for: its block waits for the device instead.
void Space::abandon_event(StreamId stream, std::size_t nth) {
  const PendingFrees::Event event = *pending_.nth(stream, nth);
  pending_.remove(stream, nth);
  event_pool_.put(event.event);
  pending_.unordered.push_back(event.block);
}

// Every outstanding event; those of one pool only if `only` is given. A wait that fails leaves its stream's blocks
// pending: their bytes must not be reused.
void Space::wait_for_pending(Lock& lock, const Pool* only) {
  ++counters_[Tally::num_sync_all_streams];
  Ordering* ordering = driver_->ordering();
  if (ordering == nullptr) return;
  lock.unlock();
  const std::lock_guard events(event_mutex_);
  lock.lock();
  for (const StreamId stream : pending_.streams()) {
    std::size_t kept = 0;
    while (const PendingFrees::Event* next = pending_.nth(stream, kept)) {
      if (only != nullptr && next->block->segment->pool != only) {
        ++kept;
        continue;
      }
      const EventHandle event = next->event;
      DriverStatus finished;
      {
        const Unlocked unlocked(lock);
        finished = ordering->wait_on_host(event);
      }
      if (finished.code == DriverCode::invalid) {
        abandon_event(stream, kept);
        continue;
      }
      if (!finished) break;
      event_finished(stream, kept);
    }
  }
  wait_for_unordered(lock);
  if (paged() && only == nullptr) wait_for_frees();
}

void Space::wait_for_unordered(Lock& lock) {
  if (pending_.unordered.empty()) return;
  std::vector<Block*> waiting;
  std::swap(waiting, pending_.unordered);
  DriverStatus finished;
  {
    const Unlocked unlocked(lock);
    finished = driver_->ordering()->synchronize_device();
  }
  for (Block* block : waiting) {
    if (!finished) {
      pending_.unordered.push_back(block);
    } else if (--block->pending_events == 0) {
      complete(block);
    }
  }
}

}  // namespace quarry
