// Driver, devices and contexts.
#include <cstring>
#include <string>

#include "standin/machine.h"

using quarry::standin::Gpu;
using quarry::standin::machine;

CUresult CUDAAPI cuInit(unsigned int) {
  return machine().bare("cuInit", [] { return machine().init(); });
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = machine().settings().version;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case CUDA_ERROR_NOT_INITIALIZED:
      *text = "CUDA_ERROR_NOT_INITIALIZED";
      break;
    case CUDA_ERROR_UNKNOWN:
      *text = "CUDA_ERROR_UNKNOWN";
      break;
    default:
      *text = "CUDA_ERROR";
      break;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  return machine().call("cuDeviceGetCount", [&] {
    *count = static_cast<int>(machine().gpus().size());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  return machine().call("cuDeviceGet", [&] {
    *device = ordinal;
    return machine().gpu(ordinal) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice device) {
  return machine().call("cuDeviceGetName", [&] {
    if (machine().gpu(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const std::string text = "stand-in " + std::to_string(device);
    std::strncpy(name, text.c_str(), static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return machine().call("cuDeviceGetAttribute", [&] {
    Gpu* const gpu = machine().gpu(device);
    if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        *value = gpu->device.mapping() != nullptr ? 1 : 0;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        *value = machine().settings().exportable ? 1 : 0;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
        *value = machine().settings().rdma ? 1 : 0;
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return machine().call("cuDeviceCanAccessPeer", [&] {
    if (machine().gpu(device) == nullptr || machine().gpu(peer) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer && machine().settings().peers ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return machine().call("cuDevicePrimaryCtxRetain", [&] {
    Gpu* const gpu = machine().gpu(device);
    if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    ++gpu->retained;
    *context = machine().context_of(*gpu);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  return machine().call("cuDevicePrimaryCtxRelease", [&] {
    Gpu* const gpu = machine().gpu(device);
    if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (gpu->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --gpu->retained;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  return machine().call("cuCtxGetCurrent", [&] {
    *context = machine().current();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  return machine().call("cuCtxPushCurrent", [&] {
    if (machine().gpu_of(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    machine().push(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  return machine().call("cuCtxPopCurrent",
                        [&] { return machine().pop(*context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; });
}

CUresult CUDAAPI cuCtxSynchronize() {
  return machine().on_device("cuCtxSynchronize", [](Gpu& gpu) {
    return quarry::standin::result_of(gpu.device.ordering()->synchronize_device());
  });
}
