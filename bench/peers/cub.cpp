#include "bench/peers/cub.h"

#include <cub/util_allocator.cuh>

#include "bench/compare/device.h"

namespace quarry::bench {
namespace {

constexpr unsigned kGrowth = 2;
constexpr unsigned kMinBin = 8;   // 256 B
constexpr unsigned kMaxBin = 33;  // 8 GiB

// The calls without a device number: they make the fewest calls of the runtime, one for each operation that hits.
class Cub {
 public:
  explicit Cub(CudaEvents events) : runtime_(simulated_device(), events), cub_(kGrowth, kMinBin, kMaxBin) {}
  Cub(const Cub&) = delete;
  Cub& operator=(const Cub&) = delete;
  ~Cub() { runtime_.enter(); }  // cub_ gives its segments back

  void enter() { runtime_.enter(); }
  void* allocate(std::size_t bytes) {
    void* pointer = nullptr;
    return cub_.DeviceAllocate(&pointer, bytes) == cudaSuccess ? pointer : nullptr;
  }
  void deallocate(void* pointer, std::size_t /*bytes*/) { static_cast<void>(cub_.DeviceFree(pointer)); }

  // CUB counts nothing itself, but asks for the device once in every operation.
  Books books() const { return {runtime_.count(CudaCall::get_device), cub_.live_blocks.size()}; }
  std::vector<CallCount> driver_calls() const {
    std::vector<CallCount> calls;
    for (std::size_t i = 0; i < kCudaCallNames.size(); ++i) calls.emplace_back(kCudaCallNames[i], runtime_.counts()[i]);
    return calls;
  }

 private:
  CubRuntime runtime_;
  cub::CachingDeviceAllocator cub_;
};

}  // namespace

std::unique_ptr<Subject> open_cub(CudaEvents events) { return std::make_unique<SubjectOf<Cub>>(events); }

}  // namespace quarry::bench
