// Device work that lags behind the host by a number of requests, in virtual time.
#pragma once

#include <cstdint>
#include <vector>

#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// After every request the clock goes on by one slice and every stream is given work up to `lag` slices ahead, so that
// an event recorded now completes `lag` requests later. A slice is long against any driver call. A wait of the host for
// the device lets all of it complete. With lag 0 nothing is ever queued. One thread.
class EventLag {
 public:
  // `handles` are the streams by number; both outlive this.
  EventLag(sim::Device& device, const std::vector<void*>& handles, std::uint32_t lag)
      : device_(device), handles_(handles), busy_until_(handles.size()), lag_(lag) {}

  void after_request() {
    if (lag_ != 0) [[unlikely]]
      advance();
  }
  std::uint64_t advanced_ns() const { return advanced_; }

 private:
  void advance();

  sim::Device& device_;
  const std::vector<void*>& handles_;
  std::vector<std::uint64_t> busy_until_;  // by stream
  std::uint32_t lag_;
  std::uint64_t advanced_ = 0;
};

}  // namespace quarry::tools
