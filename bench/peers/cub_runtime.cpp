#include "bench/peers/cub_runtime.h"

#include <cuda_runtime_api.h>

namespace quarry::bench {

CubRuntime::~CubRuntime() {
  if (current_ == this) current_ = nullptr;
}

DriverResult<Address> CubRuntime::allocate(Bytes size) {
  if (size == Bytes{}) return {};
  const DriverResult<Address> segment = device_->memory().allocate_segment(size);
  if (segment) segments_.emplace(segment.value.value, size);
  return segment;
}

DriverCode CubRuntime::release(Address base) {
  if (base == Address{}) return DriverCode::ok;
  const auto found = segments_.find(base.value);
  if (found == segments_.end()) return DriverCode::invalid;
  const Bytes size = found->second;
  segments_.erase(found);
  return device_->memory().release_segment(base, size).code;
}

DriverCode CubRuntime::record(EventHandle event, void* stream) {
  return events_ == CudaEvents::instant ? DriverCode::ok : device_->ordering()->record(event, stream).code;
}

DriverCode CubRuntime::query(EventHandle event) {
  return events_ == CudaEvents::instant ? DriverCode::ok : device_->ordering()->query(event).code;
}

namespace {

cudaError_t error_of(DriverCode code) {
  switch (code) {
    case DriverCode::ok:
      return cudaSuccess;
    case DriverCode::out_of_memory:
      return cudaErrorMemoryAllocation;
    case DriverCode::not_ready:
      return cudaErrorNotReady;
    case DriverCode::invalid:
      return cudaErrorInvalidValue;
    case DriverCode::gone:
      return cudaErrorCudartUnloading;
    case DriverCode::unsupported:
      return cudaErrorNotSupported;
    case DriverCode::other:
      break;
  }
  return cudaErrorUnknown;
}

// Counts the call and makes it: act(runtime) is its result, kept as the last error unless it is none.
template <class Act>
cudaError_t call(CudaCall name, Act act) {
  CubRuntime* const runtime = CubRuntime::current();
  if (runtime == nullptr) return cudaErrorNoDevice;
  runtime->counted(name);
  const cudaError_t error = act(*runtime);
  if (error != cudaSuccess && error != cudaErrorNotReady) runtime->set_last_error(error);
  return error;
}

EventHandle handle_of(cudaEvent_t event) { return EventHandle{reinterpret_cast<std::uint64_t>(event)}; }

cudaError_t allocate(CubRuntime& runtime, void** pointer, std::size_t size) {
  const DriverResult<Address> segment = runtime.allocate(Bytes{size});
  *pointer = segment ? reinterpret_cast<void*>(segment.value.value) : nullptr;
  return error_of(segment.status.code);
}

cudaError_t create_event(CubRuntime& runtime, cudaEvent_t* event) {
  const DriverResult<EventHandle> created = runtime.create_event();
  *event = reinterpret_cast<cudaEvent_t>(static_cast<std::uint64_t>(created.value));
  return error_of(created.status.code);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  return call(CudaCall::get_device, [=](CubRuntime&) { return *device = 0, cudaSuccess; });
}

cudaError_t cudaSetDevice(int device) {
  return call(CudaCall::set_device, [=](CubRuntime&) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaMalloc(void** pointer, std::size_t size) {
  return call(CudaCall::malloc, [=](CubRuntime& runtime) { return allocate(runtime, pointer, size); });
}

cudaError_t cudaFree(void* pointer) {
  const Address base{reinterpret_cast<std::uint64_t>(pointer)};
  return call(CudaCall::free, [=](CubRuntime& runtime) { return error_of(runtime.release(base)); });
}

cudaError_t cudaGetLastError() {
  CubRuntime* const runtime = CubRuntime::current();
  if (runtime == nullptr) return cudaErrorNoDevice;
  runtime->counted(CudaCall::get_last_error);
  return static_cast<cudaError_t>(runtime->take_last_error());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  return call(CudaCall::event_create_with_flags, [=](CubRuntime& runtime) { return create_event(runtime, event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(CudaCall::event_destroy,
              [=](CubRuntime& runtime) { return error_of(runtime.destroy_event(handle_of(event))); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call(CudaCall::event_record,
              [=](CubRuntime& runtime) { return error_of(runtime.record(handle_of(event), stream)); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(CudaCall::event_query, [=](CubRuntime& runtime) { return error_of(runtime.query(handle_of(event))); });
}

}  // extern "C"

}  // namespace quarry::bench
