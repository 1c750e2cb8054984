// The order that a correct program keeps among the uses of the same bytes on several streams of a simulated device.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::hunt {

// A stream as the program knows it: the device's handle and the allocator's number. A handle can come back for another
// stream; the number cannot.
struct Queue {
  void* handle = nullptr;
  Stream stream{};
};

// The last write and the reads since, each as an event on its stream. One thread at a time.
class UseOrder {
 public:
  explicit UseOrder(sim::Device& device) : device_(&device) {}

  // `queue` waits for all that its next use has to follow.
  void wait(const Queue& queue, bool writes) {
    for (const Mark& mark : marks_) {
      const bool ordered = mark.handle == queue.handle && mark.stream == queue.stream.id();
      if ((mark.wrote || writes) && !ordered) (void)device_->wait_on_stream(queue.handle, mark.event->handle);
    }
  }
  // What is queued so far on `queue` has used the bytes.
  void note(const Queue& queue, bool wrote) {
    if (wrote) marks_.clear();
    auto event = std::make_unique<Event>(*device_);
    (void)device_->record(event->handle, queue.handle);
    marks_.push_back({queue.handle, queue.stream.id(), wrote, std::move(event)});
  }
  // The host waits for every use.
  void finish() {
    for (const Mark& mark : marks_) (void)device_->wait_on_host(mark.event->handle);
  }

 private:
  struct Event {
    explicit Event(sim::Device& of) : device(of), handle(of.create_event().value) {}
    ~Event() { (void)device.destroy_event(handle); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    sim::Device& device;
    EventHandle handle;
  };
  struct Mark {
    void* handle;
    StreamId stream;
    bool wrote;
    std::unique_ptr<Event> event;
  };

  sim::Device* device_;
  std::vector<Mark> marks_;
};

// `waiter` goes on after all that is queued on `queue`. In a capture: it joins.
inline void follow(sim::Device& device, const Queue& waiter, const Queue& queue) {
  UseOrder order(device);
  order.note(queue, true);
  order.wait(waiter, true);
}

}  // namespace quarry::hunt
