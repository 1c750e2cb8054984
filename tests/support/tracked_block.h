// A block as a correct program uses it on a simulated device: a stream waits for what earlier streams did to the block,
// and the allocator is told of every stream but the block's own.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::hunt {

// A stream as the program knows it: the device's handle and the allocator's number.
struct Queue {
  void* handle = nullptr;
  Stream stream{};
};

class TrackedBlock {
 public:
  // The order on `owner` at this instant is what other streams have to wait for.
  TrackedBlock(sim::Device& device, Allocation block, const Queue& owner)
      : device_(&device), block_(std::move(block)), owner_(owner.stream.id()) {
    note(owner.handle, true);
  }
  TrackedBlock(TrackedBlock&&) = default;
  TrackedBlock& operator=(TrackedBlock&&) = default;

  Address address() const { return block_.address(); }
  Bytes size() const { return {block_.block_size()}; }
  Bytes requested() const { return {block_.size()}; }

  // Queues work that reads or writes all of it.
  void use(const Queue& queue, bool writes, std::uint64_t duration_ns) {
    for (const Mark& mark : marks_) {
      const bool ordered = mark.handle == queue.handle && mark.stream == queue.stream.id();
      if ((mark.wrote || writes) && !ordered) (void)device_->wait_on_stream(queue.handle, mark.event->handle);
    }
    const std::vector<sim::ByteRange> range{{block_.address(), {block_.size()}}};
    device_->work(queue.handle, duration_ns, writes ? std::vector<sim::ByteRange>{} : range,
                  writes ? range : std::vector<sim::ByteRange>{});
    if (writes) marks_.clear();
    note(queue.handle, writes, queue.stream.id());
    if (queue.stream.id() != owner_) block_.used_on(queue.stream);
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

  void note(void* handle, bool wrote) { note(handle, wrote, owner_); }
  void note(void* handle, bool wrote, StreamId stream) {
    auto event = std::make_unique<Event>(*device_);
    (void)device_->record(event->handle, handle);
    marks_.push_back({handle, stream, wrote, std::move(event)});
  }

  sim::Device* device_;
  Allocation block_;
  StreamId owner_;
  std::vector<Mark> marks_;  // the last write and the reads since
};

}  // namespace quarry::hunt
