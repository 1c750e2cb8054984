// Events for reuse, so that a free on a second stream costs a record and not a creation. Its own lock, held for a push
// or a pop only; the driver is called without it.
#pragma once

#include <mutex>
#include <vector>

#include <quarry/allocator/driver/driver.h>

namespace quarry {

class EventPool {
 public:
  // `ordering` outlives the pool.
  explicit EventPool(Ordering* ordering) : ordering_(ordering) {}
  ~EventPool() {
    for (const EventHandle event : idle_) (void)ordering_->destroy_event(event);
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  DriverResult<EventHandle> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const EventHandle event = idle_.back();
        idle_.pop_back();
        return {{}, event};
      }
    }
    return ordering_->create_event();
  }

  // Nothing waits for `event` any more.
  void put(EventHandle event) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(event);
  }

 private:
  Ordering* ordering_;
  std::mutex mutex_;
  std::vector<EventHandle> idle_;
};

}  // namespace quarry
