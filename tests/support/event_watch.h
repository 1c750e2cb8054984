// The simulated device with an eye on every event: one that was recorded is recorded again only after the host has seen
// it finished, and destroyed only then or when nothing can ask for it any more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <quarry/allocator/sim/device.h>

namespace quarry {

class EventWatch final : public Driver, public Ordering {
 public:
  explicit EventWatch(std::shared_ptr<sim::Device> device) : device_(std::move(device)) {}

  std::uint64_t reused_in_flight() const { return reused_; }
  std::uint64_t created() const { return created_; }

  Memory& memory() override { return *device_; }
  Mapping* mapping() override { return device_->mapping(); }
  Ordering* ordering() override { return this; }

  DriverResult<std::uint64_t> stream_identity(void* stream) override { return device_->stream_identity(stream); }
  DriverResult<EventHandle> create_event() override {
    ++created_;
    return device_->create_event();
  }
  DriverStatus destroy_event(EventHandle event) override {
    in_flight_.erase(event);
    return device_->destroy_event(event);
  }
  DriverStatus record(EventHandle event, void* stream) override {
    if (in_flight_.contains(event)) ++reused_;
    in_flight_[event] = stream;
    return device_->record(event, stream);
  }
  DriverStatus query(EventHandle event) override { return finished(event, device_->query(event)); }
  DriverStatus wait_on_host(EventHandle event) override { return finished(event, device_->wait_on_host(event)); }
  DriverStatus wait_on_stream(void* stream, EventHandle event) override {
    return device_->wait_on_stream(stream, event);
  }
  DriverStatus synchronize_stream(void* stream) override {
    std::erase_if(in_flight_, [&](const auto& entry) { return entry.second == stream; });
    return device_->synchronize_stream(stream);
  }
  DriverStatus synchronize_device() override {
    in_flight_.clear();
    return device_->synchronize_device();
  }
  DriverResult<bool> capture_open(void* stream) override { return device_->capture_open(stream); }

 private:
  DriverStatus finished(EventHandle event, DriverStatus status) {
    if (status) in_flight_.erase(event);
    return status;
  }

  std::shared_ptr<sim::Device> device_;
  std::map<EventHandle, void*> in_flight_;  // with the stream it was recorded on
  std::uint64_t reused_ = 0;
  std::uint64_t created_ = 0;
};

}  // namespace quarry
