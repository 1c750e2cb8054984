// The entry points of libcuda that the backend calls, each with the CUDA version whose signature is meant.
#pragma once

// X(name, version). cuda.h may define a name as its newest version; stringised inside X it is still the plain name, and
// that is what the look-up takes.
// clang-format off
#define QUARRY_CUDA_ENTRIES(X) \
  X(cuInit, 2000) \
  X(cuGetErrorName, 6000) \
  X(cuDeviceGet, 2000) \
  X(cuDeviceGetCount, 2000) \
  X(cuDeviceGetName, 2000) \
  X(cuDeviceGetAttribute, 2000) \
  X(cuDeviceCanAccessPeer, 4000) \
  X(cuDevicePrimaryCtxRetain, 7000) \
  X(cuDevicePrimaryCtxRelease, 11000) \
  X(cuCtxGetCurrent, 4000) \
  X(cuCtxPushCurrent, 4000) \
  X(cuCtxPopCurrent, 4000) \
  X(cuCtxSynchronize, 2000) \
  X(cuMemGetInfo, 3020) \
  X(cuMemAlloc, 3020) \
  X(cuMemFree, 3020) \
  X(cuMemHostAlloc, 2020) \
  X(cuMemFreeHost, 2000) \
  X(cuMemHostRegister, 6050) \
  X(cuMemHostUnregister, 4000) \
  X(cuMemAddressReserve, 10020) \
  X(cuMemAddressFree, 10020) \
  X(cuMemCreate, 10020) \
  X(cuMemRelease, 10020) \
  X(cuMemMap, 10020) \
  X(cuMemUnmap, 10020) \
  X(cuMemSetAccess, 10020) \
  X(cuMemGetAllocationGranularity, 10020) \
  X(cuEventCreate, 2000) \
  X(cuEventDestroy, 4000) \
  X(cuEventRecord, 2000) \
  X(cuEventQuery, 2000) \
  X(cuEventSynchronize, 2000) \
  X(cuStreamWaitEvent, 3020) \
  X(cuStreamSynchronize, 2000) \
  X(cuStreamGetId, 12000) \
  X(cuStreamIsCapturing, 10000)
// clang-format on
