// The driver API for test programs: what they do themselves, beside the allocator, on its device and context.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <quarry/allocator/driver/cuda.h>
#include <quarry/allocator/driver/cuda_library.h>

// As in driver/cuda_entries.h.
// clang-format off
#define QUARRY_RAW_ENTRIES(X) \
  X(cuInit, 2000) \
  X(cuDevicePrimaryCtxRetain, 7000) \
  X(cuCtxPushCurrent, 4000) \
  X(cuCtxSynchronize, 2000) \
  X(cuMemAddressReserve, 10020) \
  X(cuMemAddressFree, 10020) \
  X(cuMemCreate, 10020) \
  X(cuMemRelease, 10020) \
  X(cuMemMap, 10020) \
  X(cuMemUnmap, 10020) \
  X(cuMemSetAccess, 10020) \
  X(cuStreamCreate, 2000) \
  X(cuStreamDestroy, 4000) \
  X(cuStreamSynchronize, 2000) \
  X(cuStreamWaitEvent, 3020) \
  X(cuEventCreate, 2000) \
  X(cuEventDestroy, 4000) \
  X(cuEventRecord, 2000) \
  X(cuMemsetD32Async, 3020) \
  X(cuMemcpyDtoHAsync, 3020)
// clang-format on

namespace quarry::gpu {

// The exit code that says: no GPU here, nothing was run.
inline constexpr int kNoGpu = 77;

struct RawApi {
#define QUARRY_RAW_MEMBER(name, version) decltype(&::name) name = nullptr;
  QUARRY_RAW_ENTRIES(QUARRY_RAW_MEMBER)
#undef QUARRY_RAW_MEMBER
};

[[noreturn]] inline void stop(int code, const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(code);
}

// Any failure of these programs' own calls ends them.
inline void must(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) stop(1, std::string(what) + " failed with CUresult " + std::to_string(result));
}

inline std::shared_ptr<Driver> open_gpu() {
  const Result<std::shared_ptr<Driver>> driver = make_cuda_driver(0);
  if (driver) return *driver;
  stop(driver.error().code == ErrorCode::unsupported ? kNoGpu : 1, driver.error().message);
}

// With the primary context of device 0 current in this thread.
inline const RawApi& raw_api() {
  static const RawApi loaded = [] {
    const Result<CudaLibrary> library = CudaLibrary::open("libcuda.so.1");
    if (!library) stop(kNoGpu, library.error().message);
    RawApi api;
#define QUARRY_RAW_FIND(name, version)                                            \
  api.name = reinterpret_cast<decltype(api.name)>(library->find(#name, version)); \
  if (api.name == nullptr) stop(1, "no entry point " #name);
    QUARRY_RAW_ENTRIES(QUARRY_RAW_FIND)
#undef QUARRY_RAW_FIND
    must(api.cuInit(0), "cuInit");
    return api;
  }();
  thread_local const bool current = [] {
    CUcontext context = nullptr;
    must(loaded.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(loaded.cuCtxPushCurrent(context), "cuCtxPushCurrent");
    return true;
  }();
  static_cast<void>(current);
  return loaded;
}

}  // namespace quarry::gpu
