// A stand-in for the CUDA runtime at link time: the nine calls that CUB's CachingDeviceAllocator makes, over a
// simulated device. A program with cub_runtime.cpp links no CUDA runtime, and sees one device, number 0.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <quarry/allocator/sim/device.h>

namespace quarry::bench {

enum class CudaCall : std::uint8_t {
  get_device,
  set_device,
  malloc,
  free,
  get_last_error,
  event_create_with_flags,
  event_destroy,
  event_record,
  event_query
};
inline constexpr std::array<std::string_view, 9> kCudaCallNames = {
    "cudaGetDevice",    "cudaSetDevice",   "cudaMalloc",    "cudaFree", "cudaGetLastError", "cudaEventCreateWithFlags",
    "cudaEventDestroy", "cudaEventRecord", "cudaEventQuery"};

// `instant`: record and query return at once, every event is finished. That is less than any runtime can do (a real
// record takes 300 to 1,000 ns), so it bounds from below what an allocator's events cost it.
enum class CudaEvents : std::uint8_t { simulated, instant };

// What the nine calls act on. One thread.
class CubRuntime {
 public:
  using Counts = std::array<std::uint64_t, kCudaCallNames.size()>;

  CubRuntime(std::shared_ptr<sim::Device> device, CudaEvents events) : device_(std::move(device)), events_(events) {}
  CubRuntime(const CubRuntime&) = delete;
  CubRuntime& operator=(const CubRuntime&) = delete;
  ~CubRuntime();

  // Calls go here until another runtime is entered. Without one they fail with cudaErrorNoDevice.
  void enter() { current_ = this; }
  static CubRuntime* current() { return current_; }

  const Counts& counts() const { return counts_; }
  std::uint64_t count(CudaCall call) const { return counts_[static_cast<std::size_t>(call)]; }

  // What cub_runtime.cpp makes of the calls.
  void counted(CudaCall call) { ++counts_[static_cast<std::size_t>(call)]; }
  void set_last_error(int error) { last_error_ = error; }
  int take_last_error() { return std::exchange(last_error_, 0); }
  DriverResult<Address> allocate(Bytes size);  // 0 bytes: address 0
  DriverCode release(Address base);            // address 0 is ignored
  DriverResult<EventHandle> create_event() { return device_->ordering()->create_event(); }
  DriverCode destroy_event(EventHandle event) { return device_->ordering()->destroy_event(event).code; }
  DriverCode record(EventHandle event, void* stream);
  DriverCode query(EventHandle event);

 private:
  static inline CubRuntime* current_ = nullptr;

  std::shared_ptr<sim::Device> device_;
  CudaEvents events_;
  Counts counts_{};
  int last_error_ = 0;                                 // as cudaError_t
  std::unordered_map<std::uint64_t, Bytes> segments_;  // by address, as asked for
};

}  // namespace quarry::bench
