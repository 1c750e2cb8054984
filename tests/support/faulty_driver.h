// The simulated device as the allocator sees it, with a fault at one of the calls the allocator makes. What a test does
// to the device by itself is not counted and never fails.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <quarry/allocator/sim/device.h>

namespace quarry::test {

struct DriverFault {
  std::uint64_t nth = 0;  // 1 = the first call, the ones that opening makes included; 0 = none
  DriverCode code = DriverCode::other;
  bool repeat = false;  // all later calls fail too
};

class FaultyDriver final : public Driver, public Memory, public Mapping, public Ordering {
 public:
  FaultyDriver(std::shared_ptr<sim::Device> device, const DriverFault& fault)
      : device_(std::move(device)), fault_(fault) {}

  std::uint64_t calls() const { return calls_; }
  void lift() { fault_.nth = 0; }

  Memory& memory() override { return *this; }
  Mapping* mapping() override { return device_->mapping() != nullptr ? this : nullptr; }
  Ordering* ordering() override { return device_->ordering() != nullptr ? this : nullptr; }

  Capabilities capabilities() const override { return device_->capabilities(); }
  std::uint64_t clock_ns() override { return device_->clock_ns(); }
  DriverResult<MemoryInfo> info() override {
    return struck([&] { return device_->info(); });
  }
  DriverResult<Address> allocate_segment(Bytes size) override {
    return struck([&] { return device_->allocate_segment(size); });
  }
  DriverStatus release_segment(Address base, Bytes size) override {
    return struck([&] { return device_->release_segment(base, size); });
  }
  DriverResult<Address> allocate_host(Bytes size) override { return device_->allocate_host(size); }
  DriverStatus release_host(Address base, Bytes size) override { return device_->release_host(base, size); }
  DriverStatus register_host(Address base, Bytes size) override { return device_->register_host(base, size); }
  DriverStatus unregister_host(Address base) override { return device_->unregister_host(base); }

  DriverResult<Address> reserve(Bytes size) override {
    return struck([&] { return device_->reserve(size); });
  }
  DriverStatus unreserve(Address base, Bytes size) override {
    return struck([&] { return device_->unreserve(base, size); });
  }
  DriverResult<PageHandle> create_page(Bytes size, PageOptions options) override {
    return struck([&] { return device_->create_page(size, options); });
  }
  DriverStatus destroy_page(PageHandle page) override {
    return struck([&] { return device_->destroy_page(page); });
  }
  DriverStatus map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) override {
    return struck([&] { return device_->map(base, page_size, pages, count); });
  }
  DriverStatus unmap(Address base, Bytes size) override {
    return struck([&] { return device_->unmap(base, size); });
  }

  DriverResult<std::uint64_t> stream_identity(void* stream) override {
    return struck([&] { return device_->stream_identity(stream); });
  }
  DriverResult<EventHandle> create_event() override {
    return struck([&] { return device_->create_event(); });
  }
  DriverStatus destroy_event(EventHandle event) override {
    return struck([&] { return device_->destroy_event(event); });
  }
  DriverStatus record(EventHandle event, void* stream) override {
    return struck([&] { return device_->record(event, stream); });
  }
  DriverStatus query(EventHandle event) override {
    return struck([&] { return device_->query(event); });
  }
  DriverStatus wait_on_host(EventHandle event) override {
    return struck([&] { return device_->wait_on_host(event); });
  }
  DriverStatus wait_on_stream(void* stream, EventHandle event) override {
    return struck([&] { return device_->wait_on_stream(stream, event); });
  }
  DriverStatus synchronize_stream(void* stream) override {
    return struck([&] { return device_->synchronize_stream(stream); });
  }
  DriverStatus synchronize_device() override {
    return struck([&] { return device_->synchronize_device(); });
  }
  DriverResult<bool> capture_open(void* stream) override {
    return struck([&] { return device_->capture_open(stream); });
  }

 private:
  // A call that fails has no effect.
  template <class CallThere>
  std::invoke_result_t<CallThere> struck(const CallThere& call) {
    ++calls_;
    const bool now = fault_.nth != 0 && (fault_.repeat ? calls_ >= fault_.nth : calls_ == fault_.nth);
    if (!now) return call();
    const DriverStatus status{fault_.code, 0};
    if constexpr (std::is_same_v<std::invoke_result_t<CallThere>, DriverStatus>) {
      return status;
    } else {
      return {status, {}};
    }
  }

  std::shared_ptr<sim::Device> device_;
  DriverFault fault_;
  std::uint64_t calls_ = 0;
};

}  // namespace quarry::test
