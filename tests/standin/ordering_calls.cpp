// Streams and events.
#include "standin/machine.h"

using quarry::DriverResult;
using quarry::EventHandle;
using quarry::standin::Gpu;
using quarry::standin::machine;
using quarry::standin::result_of;

namespace {

// `body` gets the device's own handle of a stream that may be used on the current device.
template <class F>
CUresult with_stream(const char* name, CUstream stream, F body) {
  return machine().on_device(name, [&](Gpu& gpu) {
    if (machine().foreign(gpu, stream)) return CUDA_ERROR_INVALID_HANDLE;
    return body(gpu, machine().native(gpu, stream));
  });
}

// The same for an event of the current device.
template <class F>
CUresult with_event(const char* name, CUevent event, F body) {
  return machine().on_device(name, [&](Gpu& gpu) {
    const auto found = gpu.events.find(event);
    return found != gpu.events.end() ? body(gpu, found->second) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int) {
  return machine().on_device("cuStreamCreate", [&](Gpu& gpu) {
    *stream = reinterpret_cast<CUstream>(machine().fresh_handle());
    gpu.streams.emplace(*stream, gpu.device.create_stream());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  return machine().on_device("cuStreamDestroy", [&](Gpu& gpu) {
    const auto found = gpu.streams.find(stream);
    if (found == gpu.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = result_of(gpu.device.destroy_stream(found->second));
    if (result == CUDA_SUCCESS) gpu.streams.erase(found);
    return result;
  });
}

CUresult CUDAAPI cuStreamGetId(CUstream stream, unsigned long long* id) {
  return with_stream("cuStreamGetId", stream, [&](Gpu& gpu, void* native) {
    const DriverResult<std::uint64_t> got = gpu.device.stream_identity(native);
    *id = got.value;
    return result_of(got.status);
  });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* capture) {
  return with_stream("cuStreamIsCapturing", stream, [&](Gpu& gpu, void* native) {
    const DriverResult<bool> got = gpu.device.capture_open(native);
    *capture = got.value ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return result_of(got.status);
  });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  return with_stream("cuStreamSynchronize", stream,
                     [&](Gpu& gpu, void* native) { return result_of(gpu.device.synchronize_stream(native)); });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
  return with_stream("cuStreamWaitEvent", stream, [&](Gpu& gpu, void* native) {
    const auto found = gpu.events.find(event);
    if (found == gpu.events.end()) return CUDA_ERROR_INVALID_HANDLE;
    return result_of(gpu.device.wait_on_stream(native, found->second));
  });
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int) {
  return machine().on_device("cuEventCreate", [&](Gpu& gpu) {
    const DriverResult<EventHandle> got = gpu.device.create_event();
    if (!got) return result_of(got.status);
    *event = reinterpret_cast<CUevent>(machine().fresh_handle());
    gpu.events.emplace(*event, got.value);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  return with_event("cuEventDestroy", event, [&](Gpu& gpu, EventHandle native) {
    const CUresult result = result_of(gpu.device.destroy_event(native));
    if (result == CUDA_SUCCESS) gpu.events.erase(event);
    return result;
  });
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  return with_event("cuEventRecord", event, [&](Gpu& gpu, EventHandle native) {
    if (machine().foreign(gpu, stream)) return CUDA_ERROR_INVALID_HANDLE;
    return result_of(gpu.device.record(native, machine().native(gpu, stream)));
  });
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  return with_event("cuEventQuery", event,
                    [](Gpu& gpu, EventHandle native) { return result_of(gpu.device.query(native)); });
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  return with_event("cuEventSynchronize", event,
                    [](Gpu& gpu, EventHandle native) { return result_of(gpu.device.wait_on_host(native)); });
}
