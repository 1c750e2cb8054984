// Where a peer gets its segments: the driver seam, with the peak of what the device holds noted.
#pragma once

#include <algorithm>

#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// The peak is in the driver's own granularity: a 512 B request holds 2 MiB of the device, as with cudaMalloc. One
// thread.
class SegmentSource {
 public:
  explicit SegmentSource(sim::Device& device) : device_(device) {}

  DriverResult<Address> allocate(Bytes size) {
    const DriverResult<Address> got = device_.memory().allocate_segment(size);
    if (got) peak_ = std::max(peak_, device_.in_use());
    return got;
  }
  void release(Address base, Bytes size) { static_cast<void>(device_.memory().release_segment(base, size)); }
  Ordering* ordering() { return device_.ordering(); }

  Bytes peak() const { return peak_; }
  void reset_peak() { peak_ = device_.in_use(); }

 private:
  sim::Device& device_;
  Bytes peak_;
};

}  // namespace quarry::tools
