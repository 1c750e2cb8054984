// Blocks the caller has freed while other streams still use them.
//
// Each event sits in the queue of the stream it was recorded on; queues are looked at from the front and no further
// than the first event that is not finished. A block leaves when its last event is finished. No lock: the heap's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <ranges>
#include <vector>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/heap/block.h>

namespace quarry {

class PendingFrees {
 public:
  struct Event {
    EventHandle event{};
    Block* block = nullptr;
  };

  void push(StreamId stream, Event event) {
    queues_[stream].push_back(event);
    ++events_;
  }
  // Streams with events, in the order of their numbers: a view, good while events come and go as long as each step of
  // it is made under the lock, because a queue once made stays.
  auto streams() const {
    const auto waits = [](const auto& entry) { return !entry.second.empty(); };
    return queues_ | std::views::filter(waits) | std::views::keys;
  }
  // From the front, 0 is the oldest; null behind the last.
  const Event* nth(StreamId stream, std::size_t n) const {
    const auto found = queues_.find(stream);
    return found == queues_.end() || n >= found->second.size() ? nullptr : &found->second[n];
  }
  void remove(StreamId stream, std::size_t n) {
    auto& queue = queues_[stream];
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(n));
    --events_;
  }

  bool no_events() const { return events_ == 0; }

  // Blocks that only a wait for the whole device can free: no event could be recorded for them.
  std::vector<Block*> unordered;
  // Blocks freed inside a capture, until it is over; `capturing` is the stream that was current, one of the capture.
  struct Parked {
    Block* block = nullptr;
    StreamId capturing = kDefaultStream;
  };
  std::vector<Parked> parked;

 private:
  std::map<StreamId, std::deque<Event>> queues_;
  std::uint64_t events_ = 0;
};

}  // namespace quarry
