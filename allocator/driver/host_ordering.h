// A device's Ordering as a space sees it whose blocks the host owns.
#pragma once

#include <quarry/allocator/driver/driver.h>

namespace quarry {

// Streams and events are the device's. The host's own handle needs no waiting for: what the host did, it has done. It
// has no queue, so that no event can be recorded on it.
class HostOrdering final : public Ordering {
 public:
  explicit HostOrdering(Ordering& device) : device_(device) {}

  // Nobody else has this handle.
  static void* host_stream() {
    static char host;
    return &host;
  }

  DriverResult<std::uint64_t> stream_identity(void* stream) override {
    if (stream == host_stream()) return {{}, kHostIdentity};
    return device_.stream_identity(stream);
  }
  DriverResult<EventHandle> create_event() override { return device_.create_event(); }
  DriverStatus destroy_event(EventHandle event) override { return device_.destroy_event(event); }
  DriverStatus record(EventHandle event, void* stream) override {
    if (stream == host_stream()) return {DriverCode::unsupported};
    return device_.record(event, stream);
  }
  DriverStatus query(EventHandle event) override { return device_.query(event); }
  DriverStatus wait_on_host(EventHandle event) override { return device_.wait_on_host(event); }
  DriverStatus wait_on_stream(void* stream, EventHandle event) override {
    if (stream == host_stream()) return device_.wait_on_host(event);
    return device_.wait_on_stream(stream, event);
  }
  DriverStatus synchronize_stream(void* stream) override {
    return stream == host_stream() ? DriverStatus{} : device_.synchronize_stream(stream);
  }
  DriverStatus synchronize_device() override { return device_.synchronize_device(); }
  DriverResult<bool> capture_open(void* stream) override {
    if (stream == host_stream()) return {{}, false};
    return device_.capture_open(stream);
  }

 private:
  static constexpr std::uint64_t kHostIdentity = ~std::uint64_t{0};

  Ordering& device_;
};

}  // namespace quarry
