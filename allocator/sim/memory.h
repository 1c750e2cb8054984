// Memory of this process behind a simulated device: Backing::memfd.
#pragma once

#include <quarry/allocator/check.h>
#include <quarry/allocator/driver/address_space.h>
#include <quarry/allocator/driver/page_file.h>

namespace quarry::sim {

// Address ranges for the device's layouts, held for its life, and the file of its pages.
class RealMemory {
 public:
  static constexpr Bytes kDeviceSize{1ull << 40};
  static constexpr Bytes kHostSize{1ull << 36};

  RealMemory() : device_(take_addresses(kDeviceSize, kAlignment)), host_(take_addresses(kHostSize, kAlignment)) {
    QUARRY_CHECK(device_ && host_, "this process has the addresses for a device with real memory");
  }
  ~RealMemory() {
    static_cast<void>(drop_addresses(device_.value, kDeviceSize));
    static_cast<void>(drop_addresses(host_.value, kHostSize));
  }
  RealMemory(const RealMemory&) = delete;
  RealMemory& operator=(const RealMemory&) = delete;

  Address device() const { return device_.value; }
  Address host() const { return host_.value; }
  PageFile& file() { return file_; }

 private:
  static constexpr Bytes kAlignment{2ull << 20};

  DriverResult<Address> device_;
  DriverResult<Address> host_;
  PageFile file_;
};

}  // namespace quarry::sim
