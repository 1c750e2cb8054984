// Device memory, host memory, and the two transfers that a test program needs.
#include <cstdint>
#include <cstring>

#include "standin/machine.h"

using quarry::Address;
using quarry::Bytes;
using quarry::DriverResult;
using quarry::DriverStatus;
using quarry::standin::Gpu;
using quarry::standin::machine;
using quarry::standin::result_of;

namespace {

using Sizes = std::map<Address, Bytes>;

Address address_of(void* pointer) { return {reinterpret_cast<std::uint64_t>(pointer)}; }

// CUDA knows sizes by the base address alone.
template <class Release>
CUresult give_back(Sizes& sizes, Address base, Release release) {
  const auto found = sizes.find(base);
  if (found == sizes.end()) return CUDA_ERROR_INVALID_VALUE;
  const DriverStatus status = release(base, found->second);
  if (status) sizes.erase(found);
  return result_of(status);
}

// Virtual time of a memset or a copy, for something that takes longer the more it moves.
std::uint64_t duration(std::size_t bytes) { return 2000 + bytes / 1000; }

}  // namespace

CUresult CUDAAPI cuMemGetInfo(std::size_t* free, std::size_t* total) {
  return machine().on_device("cuMemGetInfo", [&](Gpu& gpu) {
    const DriverResult<quarry::MemoryInfo> info = gpu.device.info();
    *free = info.value.free.count;
    *total = info.value.total.count;
    return result_of(info.status);
  });
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* at, std::size_t size) {
  return machine().on_device("cuMemAlloc", [&](Gpu& gpu) {
    const DriverResult<Address> got = gpu.device.allocate_segment({size});
    if (got) gpu.segments.emplace(got.value, Bytes{size});
    *at = got.value.value;
    return result_of(got.status);
  });
}

CUresult CUDAAPI cuMemFree(CUdeviceptr at) {
  return machine().on_device("cuMemFree", [&](Gpu& gpu) {
    if (at == 0) return CUDA_SUCCESS;
    return give_back(gpu.segments, {at},
                     [&](Address base, Bytes size) { return gpu.device.release_segment(base, size); });
  });
}

CUresult CUDAAPI cuMemHostAlloc(void** at, std::size_t size, unsigned int) {
  return machine().on_device("cuMemHostAlloc", [&](Gpu& gpu) {
    const DriverResult<Address> got = gpu.device.allocate_host({size});
    if (got) gpu.host.emplace(got.value, Bytes{size});
    *at = reinterpret_cast<void*>(got.value.value);
    return result_of(got.status);
  });
}

CUresult CUDAAPI cuMemFreeHost(void* at) {
  return machine().on_device("cuMemFreeHost", [&](Gpu& gpu) {
    return give_back(gpu.host, address_of(at),
                     [&](Address base, Bytes size) { return gpu.device.release_host(base, size); });
  });
}

CUresult CUDAAPI cuMemHostRegister(void* at, std::size_t size, unsigned int) {
  return machine().on_device("cuMemHostRegister",
                             [&](Gpu& gpu) { return result_of(gpu.device.register_host(address_of(at), {size})); });
}

CUresult CUDAAPI cuMemHostUnregister(void* at) {
  return machine().on_device("cuMemHostUnregister",
                             [&](Gpu& gpu) { return result_of(gpu.device.unregister_host(address_of(at))); });
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr at, unsigned int value, std::size_t count, CUstream stream) {
  return machine().on_device("cuMemsetD32Async", [&](Gpu& gpu) {
    if (machine().foreign(gpu, stream)) return CUDA_ERROR_INVALID_HANDLE;
    const auto effect = [=] {
      for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned int*>(at)[i] = value;
    };
    const bool real = gpu.device.capabilities().readable;
    gpu.device.work(machine().native(gpu, stream), duration(count * 4), {}, {{{at}, {count * 4}}},
                    real ? std::function<void()>(effect) : nullptr);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t size, CUstream stream) {
  return machine().on_device("cuMemcpyDtoHAsync", [&](Gpu& gpu) {
    if (machine().foreign(gpu, stream)) return CUDA_ERROR_INVALID_HANDLE;
    const auto effect = [=] { std::memcpy(to, reinterpret_cast<const void*>(from), size); };
    const bool real = gpu.device.capabilities().readable;
    gpu.device.work(machine().native(gpu, stream), duration(size), {{{from}, {size}}}, {},
                    real ? std::function<void()>(effect) : nullptr);
    return CUDA_SUCCESS;
  });
}
