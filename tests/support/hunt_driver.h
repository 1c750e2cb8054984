// The simulated device, with a hole in every driver call that the space makes: what other threads do meanwhile. The
// heap lock is not held there.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <quarry/allocator/sim/device.h>

namespace quarry::hunt {

class Interrupted final : public Driver, public Memory, public Mapping, public Ordering {
 public:
  explicit Interrupted(std::shared_ptr<sim::Device> device) : device_(std::move(device)) {}

  // Called before and after each of the calls below that marks a place where threads can meet.
  std::function<void()> meanwhile;
  // The paged policy asks whether a stream captures, records an event and looks at it under the heap lock
  // (space_order.cpp), and nobody can meet there. It also does each of these without: what comes right after such a
  // question is taken for the one, so that at worst a meeting is lost.
  bool orders_under_lock = false;

  Memory& memory() override { return *this; }
  Mapping* mapping() override { return this; }
  Ordering* ordering() override { return this; }

  Capabilities capabilities() const override { return device_->capabilities(); }
  DriverResult<MemoryInfo> info() override { return device_->info(); }
  DriverResult<Address> allocate_segment(Bytes size) override {
    return around([&] { return device_->allocate_segment(size); });
  }
  DriverStatus release_segment(Address base, Bytes size) override {
    return around([&] { return device_->release_segment(base, size); });
  }
  DriverResult<Address> allocate_host(Bytes size) override { return device_->allocate_host(size); }
  DriverStatus release_host(Address base, Bytes size) override { return device_->release_host(base, size); }
  DriverStatus register_host(Address base, Bytes size) override { return device_->register_host(base, size); }
  DriverStatus unregister_host(Address base) override { return device_->unregister_host(base); }
  std::uint64_t clock_ns() override { return device_->clock_ns(); }

  DriverResult<Address> reserve(Bytes size) override {
    return around([&] { return device_->reserve(size); });
  }
  DriverStatus unreserve(Address base, Bytes size) override {
    return around([&] { return device_->unreserve(base, size); });
  }
  DriverResult<PageHandle> create_page(Bytes size, PageOptions options) override {
    return device_->create_page(size, options);
  }
  DriverStatus destroy_page(PageHandle page) override { return device_->destroy_page(page); }
  DriverStatus map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) override {
    return around([&] { return device_->map(base, page_size, pages, count); });
  }
  DriverStatus unmap(Address base, Bytes size) override {
    return around([&] { return device_->unmap(base, size); });
  }

  DriverResult<std::uint64_t> stream_identity(void* stream) override { return device_->stream_identity(stream); }
  DriverResult<EventHandle> create_event() override { return device_->create_event(); }
  DriverStatus destroy_event(EventHandle event) override { return device_->destroy_event(event); }
  DriverStatus record(EventHandle event, void* stream) override {
    if (std::exchange(asked_, false)) {
      recorded_ = true;
      return device_->record(event, stream);
    }
    return around([&] { return device_->record(event, stream); });
  }
  DriverStatus query(EventHandle event) override {
    if (std::exchange(recorded_, false)) return device_->query(event);
    return around([&] { return device_->query(event); });
  }
  DriverStatus wait_on_host(EventHandle event) override {
    return around([&] { return device_->wait_on_host(event); });
  }
  DriverStatus wait_on_stream(void* stream, EventHandle event) override {
    return device_->wait_on_stream(stream, event);
  }
  DriverStatus synchronize_stream(void* stream) override {
    return around([&] { return device_->synchronize_stream(stream); });
  }
  DriverStatus synchronize_device() override {
    return around([&] { return device_->synchronize_device(); });
  }
  DriverResult<bool> capture_open(void* stream) override {
    if (!orders_under_lock) return around([&] { return device_->capture_open(stream); });
    asked_ = true;
    return device_->capture_open(stream);
  }

 private:
  template <class CallThere>
  std::invoke_result_t<CallThere> around(const CallThere& call) {
    asked_ = recorded_ = false;
    if (meanwhile) meanwhile();
    const std::invoke_result_t<CallThere> result = call();
    if (meanwhile) meanwhile();
    return result;
  }

  std::shared_ptr<sim::Device> device_;
  bool asked_ = false;
  bool recorded_ = false;
};

}  // namespace quarry::hunt
