// The only file that includes cuda.h.
#include <quarry/allocator/driver/cuda.h>

#include <cuda.h>

#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <quarry/allocator/driver/cuda_context.h>
#include <quarry/allocator/driver/cuda_entries.h>
#include <quarry/allocator/driver/cuda_library.h>
#include <quarry/allocator/driver/held_ranges.h>

namespace quarry {

namespace {

constexpr Bytes kSegmentGranularity{2ull << 20};  // the driver takes physical memory in these
constexpr Bytes kSegmentUnit{512};                // the driver itself promises less alignment for small sizes
constexpr Bytes kAddressSpace{std::uint64_t{1} << 57};
// Above, rounding could wrap: such sizes are out of memory, and the driver is not asked.
constexpr Bytes kMostAsked{std::numeric_limits<std::uint64_t>::max() << 32};

struct Entries {
#define QUARRY_CUDA_MEMBER(name, version) decltype(&::name) name = nullptr;
  QUARRY_CUDA_ENTRIES(QUARRY_CUDA_MEMBER)
#undef QUARRY_CUDA_MEMBER
};

// The name of the first entry point that is missing; null if none is.
const char* look_up(const CudaLibrary& library, Entries& entries) {
#define QUARRY_CUDA_FIND(name, version)                                                  \
  entries.name = reinterpret_cast<decltype(entries.name)>(library.find(#name, version)); \
  if (entries.name == nullptr) return #name;
  QUARRY_CUDA_ENTRIES(QUARRY_CUDA_FIND)
#undef QUARRY_CUDA_FIND
  return nullptr;
}

// What is not here is `other`.
constexpr std::pair<CUresult, DriverCode> kCodes[] = {
    {CUDA_SUCCESS, DriverCode::ok},
    {CUDA_ERROR_OUT_OF_MEMORY, DriverCode::out_of_memory},
    {CUDA_ERROR_NOT_READY, DriverCode::not_ready},
    {CUDA_ERROR_DEINITIALIZED, DriverCode::gone},
    {CUDA_ERROR_NOT_INITIALIZED, DriverCode::gone},  // we did initialise: this is a child of the process that did
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, DriverCode::gone},
    {CUDA_ERROR_INVALID_VALUE, DriverCode::invalid},
    {CUDA_ERROR_INVALID_HANDLE, DriverCode::invalid},
    {CUDA_ERROR_INVALID_CONTEXT, DriverCode::invalid},
    {CUDA_ERROR_INVALID_DEVICE, DriverCode::invalid},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, DriverCode::invalid},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, DriverCode::invalid},
    {CUDA_ERROR_NOT_SUPPORTED, DriverCode::unsupported}};

DriverCode code_of(CUresult result) {
  for (const auto& [native, code] : kCodes) {
    if (native == result) return code;
  }
  return DriverCode::other;
}

DriverStatus status_of(CUresult result) { return {code_of(result), static_cast<int>(result)}; }

constexpr DriverStatus kInvalid{DriverCode::invalid, CUDA_ERROR_INVALID_VALUE};
constexpr DriverStatus kOutOfMemory{DriverCode::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY};

// Memory that the driver freed by shutting down is released. A fork has no native code and stays an error.
DriverStatus freed(DriverStatus status) { return status.native == CUDA_ERROR_DEINITIALIZED ? DriverStatus{} : status; }

// What no address space can hold is out of memory, by whatever name the driver refuses it.
DriverStatus sized(Bytes size, DriverStatus status) {
  return status.code == DriverCode::invalid && size > kAddressSpace ? kOutOfMemory : status;
}

CUstream stream_of(void* stream) { return static_cast<CUstream>(stream); }
CUevent event_of(EventHandle event) { return reinterpret_cast<CUevent>(event); }
void* pointer_to(Address address) { return reinterpret_cast<void*>(address.value); }

struct Device {
  Entries api;
  int ordinal = 0;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  std::uint64_t forks = 0;  // at the time it was opened
  std::string name;
  std::vector<CUmemAccessDesc> access;  // owner and peers
  bool vmm = false;
  bool exportable = false;
  bool rdma = false;
  Bytes page_size;
};

class CudaDriver final : public Driver, public Memory, public Mapping, public Ordering, public ContextOwner {
 public:
  explicit CudaDriver(Device device) : device_(std::move(device)) {}
  ~CudaDriver() override {
    if (!forked()) api().cuDevicePrimaryCtxRelease(device_.handle);
  }

  Memory& memory() override { return *this; }
  Mapping* mapping() override { return device_.vmm ? this : nullptr; }
  Ordering* ordering() override { return this; }

  Capabilities capabilities() const override { return {device_.name, kSegmentGranularity, device_.page_size, false}; }
  DriverResult<MemoryInfo> info() override;
  DriverResult<Address> allocate_segment(Bytes size) override;
  DriverStatus release_segment(Address base, Bytes size) override;
  DriverResult<Address> allocate_host(Bytes size) override;
  DriverStatus release_host(Address base, Bytes size) override;
  DriverStatus register_host(Address base, Bytes size) override;
  DriverStatus unregister_host(Address base) override;
  std::uint64_t clock_ns() override {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }

  DriverResult<Address> reserve(Bytes size) override;
  DriverStatus unreserve(Address base, Bytes size) override {
    return freed(run(api().cuMemAddressFree, base.value, size.count));
  }
  DriverResult<PageHandle> create_page(Bytes size, PageOptions options) override;
  DriverStatus destroy_page(PageHandle page) override;
  DriverStatus map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) override;
  DriverStatus unmap(Address base, Bytes size) override { return freed(run(api().cuMemUnmap, base.value, size.count)); }

  DriverResult<std::uint64_t> stream_identity(void* stream) override {
    unsigned long long id = 0;
    const DriverStatus status = run(api().cuStreamGetId, stream_of(stream), &id);
    return {status, id};
  }
  DriverResult<EventHandle> create_event() override {
    CUevent event = nullptr;
    const DriverStatus status = run(api().cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    return {status, EventHandle{reinterpret_cast<std::uint64_t>(event)}};
  }
  DriverStatus destroy_event(EventHandle event) override { return freed(run(api().cuEventDestroy, event_of(event))); }
  DriverStatus record(EventHandle event, void* stream) override {
    return run(api().cuEventRecord, event_of(event), stream_of(stream));
  }
  DriverStatus query(EventHandle event) override { return run(api().cuEventQuery, event_of(event)); }
  DriverStatus wait_on_host(EventHandle event) override { return run(api().cuEventSynchronize, event_of(event)); }
  DriverStatus wait_on_stream(void* stream, EventHandle event) override {
    return run(api().cuStreamWaitEvent, stream_of(stream), event_of(event), 0);
  }
  DriverStatus synchronize_stream(void* stream) override { return run(api().cuStreamSynchronize, stream_of(stream)); }
  DriverStatus synchronize_device() override { return run(api().cuCtxSynchronize); }
  DriverResult<bool> capture_open(void* stream) override;

  DriverStatus enter(bool& pushed) override {
    CUcontext current = nullptr;
    const DriverStatus got = forked() ? DriverStatus{DriverCode::gone, 0} : status_of(api().cuCtxGetCurrent(&current));
    if (!got || current == device_.context) return got;
    const DriverStatus entered = status_of(api().cuCtxPushCurrent(device_.context));
    pushed = static_cast<bool>(entered);
    return entered;
  }
  void leave() override {
    CUcontext ours = nullptr;
    api().cuCtxPopCurrent(&ours);
  }

 private:
  const Entries& api() const { return device_.api; }
  bool forked() const { return forks_seen() != device_.forks; }

  // `call` returns a CUresult; it runs in our context, and the caller's is current again afterwards.
  template <class F, class... A>
  DriverStatus run(F call, A... arguments) {
    const CudaContext context(static_cast<ContextOwner&>(*this));
    return context.status() ? status_of(call(arguments...)) : context.status();
  }

  // Only what is held, and with its size; it stays held when the driver refuses.
  template <class F>
  DriverStatus give_back(HeldRanges& held, Address base, Bytes size, F call) {
    if (size.count == 0 || !held.take(base, size)) return kInvalid;
    const DriverStatus status = freed(run(call));
    if (!status) held.add(base, size);
    return status;
  }

  Device device_;
  HeldRanges segments_;
  HeldRanges host_;
  HeldRanges registered_;
  HeldRanges pages_;  // by handle: sizes, and which handles are ours to map
};

DriverResult<MemoryInfo> CudaDriver::info() {
  std::size_t free = 0;
  std::size_t total = 0;
  const DriverStatus status = run(api().cuMemGetInfo, &free, &total);
  return {status, {{free}, {total}}};
}

DriverResult<Address> CudaDriver::allocate_segment(Bytes size) {
  if (size.count == 0) return {kInvalid, {}};
  if (size > kMostAsked) return {kOutOfMemory, {}};
  const std::uint64_t whole = (size.count + kSegmentUnit.count - 1) / kSegmentUnit.count * kSegmentUnit.count;
  CUdeviceptr at = 0;
  const DriverStatus status = sized(size, run(api().cuMemAlloc, &at, whole));
  if (status) segments_.add({at}, size);
  return {status, {at}};
}

DriverStatus CudaDriver::release_segment(Address base, Bytes size) {
  // cuMemFree waits for the device's work by itself. An explicit wait would break a capture that is open somewhere.
  return give_back(segments_, base, size, [&] { return api().cuMemFree(base.value); });
}

DriverResult<Address> CudaDriver::allocate_host(Bytes size) {
  if (size.count == 0) return {kInvalid, {}};
  if (size > kMostAsked) return {kOutOfMemory, {}};
  void* at = nullptr;
  const DriverStatus status = sized(size, run(api().cuMemHostAlloc, &at, size.count, CU_MEMHOSTALLOC_PORTABLE));
  const Address base{reinterpret_cast<std::uint64_t>(at)};
  if (status) host_.add(base, size);
  return {status, base};
}

DriverStatus CudaDriver::release_host(Address base, Bytes size) {
  return give_back(host_, base, size, [&] { return api().cuMemFreeHost(pointer_to(base)); });
}

DriverStatus CudaDriver::register_host(Address base, Bytes size) {
  const bool wraps = size.count > std::numeric_limits<std::uint64_t>::max() - base.value;
  if (base.value == 0 || size.count == 0 || wraps) return kInvalid;
  const DriverStatus status = run(api().cuMemHostRegister, pointer_to(base), size.count, CU_MEMHOSTREGISTER_PORTABLE);
  if (status) registered_.add(base, size);
  return status;
}

DriverStatus CudaDriver::unregister_host(Address base) {
  return give_back(registered_, base, registered_.size_of(base),
                   [&] { return api().cuMemHostUnregister(pointer_to(base)); });
}

DriverResult<Address> CudaDriver::reserve(Bytes size) {
  if (size > kMostAsked) return {kOutOfMemory, {}};
  CUdeviceptr at = 0;
  const DriverStatus status = sized(size, run(api().cuMemAddressReserve, &at, size.count, 0, 0, 0));
  return {status, {at}};
}

CUmemAllocationProp page_of(int ordinal) {
  CUmemAllocationProp page{};
  page.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  page.location = {CU_MEM_LOCATION_TYPE_DEVICE, {ordinal}};
  return page;
}

DriverResult<PageHandle> CudaDriver::create_page(Bytes size, PageOptions options) {
  const bool refused = (options.exportable && !device_.exportable) || (options.rdma && !device_.rdma);
  if (refused) return {{DriverCode::unsupported, CUDA_ERROR_NOT_SUPPORTED}, {}};
  if (size > kMostAsked) return {kOutOfMemory, {}};
  CUmemAllocationProp page = page_of(device_.ordinal);
  if (options.exportable) page.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  page.allocFlags.gpuDirectRDMACapable = options.rdma ? 1 : 0;
  CUmemGenericAllocationHandle handle = 0;
  const DriverStatus status = sized(size, run(api().cuMemCreate, &handle, size.count, &page, 0));
  if (status) pages_.add({handle}, size);
  return {status, PageHandle{handle}};
}

DriverStatus CudaDriver::destroy_page(PageHandle page) {
  const Address handle{static_cast<std::uint64_t>(page)};
  return give_back(pages_, handle, pages_.size_of(handle), [&] { return api().cuMemRelease(handle.value); });
}

DriverStatus CudaDriver::map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) {
  if (count == 0) return kInvalid;
  for (std::size_t i = 0; i < count; ++i) {
    if (pages_.size_of({static_cast<std::uint64_t>(pages[i])}) != page_size) return kInvalid;
  }
  return run([&] {
    CUresult result = CUDA_SUCCESS;
    std::size_t mapped = 0;
    while (mapped < count && result == CUDA_SUCCESS) {
      const auto handle = static_cast<CUmemGenericAllocationHandle>(pages[mapped]);
      result = api().cuMemMap((base + page_size * mapped).value, page_size.count, 0, handle, 0);
      if (result == CUDA_SUCCESS) ++mapped;
    }
    if (result == CUDA_SUCCESS) {
      result = api().cuMemSetAccess(base.value, page_size.count * count, device_.access.data(), device_.access.size());
    }
    if (result != CUDA_SUCCESS && mapped > 0) api().cuMemUnmap(base.value, page_size.count * mapped);
    return result;
  });
}

DriverResult<bool> CudaDriver::capture_open(void* stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const DriverStatus status = run(api().cuStreamIsCapturing, stream_of(stream), &capture);
  if (status.native == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return {{}, true};
  return {status, capture != CU_STREAM_CAPTURE_STATUS_NONE};
}

// A failed call while opening, as one line.
Error failure(const Entries& api, const char* call, CUresult result) {
  const DriverStatus status = status_of(result);
  const char* name = nullptr;
  api.cuGetErrorName(result, &name);
  const ErrorCode code = status.code == DriverCode::gone            ? ErrorCode::gone
                         : status.code == DriverCode::out_of_memory ? ErrorCode::out_of_memory
                                                                    : ErrorCode::driver;
  std::string text = std::string("the CUDA driver failed in ") + call + ": " + (name != nullptr ? name : "unknown");
  if (result == CUDA_ERROR_NOT_INITIALIZED) text += ": the process was forked after CUDA was initialised";
  return {code, text + " (" + std::to_string(status.native) + ")", status.native};
}

Status find_device(Device& device, int ordinal) {
  const Entries& api = device.api;
  CUresult result = api.cuInit(0);
  int devices = 0;
  if (result == CUDA_SUCCESS) result = api.cuDeviceGetCount(&devices);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && devices == 0)) {
    return Error{ErrorCode::unsupported, "no CUDA: the driver finds no device", CUDA_ERROR_NO_DEVICE};
  }
  if (result != CUDA_SUCCESS) return failure(api, "cuInit", result);
  if (ordinal < 0 || ordinal >= devices) {
    const std::string there = devices == 1 ? "there is 1 device" : "there are " + std::to_string(devices) + " devices";
    return Error{ErrorCode::invalid, "no CUDA device " + std::to_string(ordinal) + ": " + there + ", counted from 0",
                 0};
  }
  result = api.cuDeviceGet(&device.handle, ordinal);
  if (result != CUDA_SUCCESS) return failure(api, "cuDeviceGet", result);
  device.ordinal = ordinal;
  return Done{};
}

bool has(const Device& device, CUdevice_attribute attribute) {
  int value = 0;
  return device.api.cuDeviceGetAttribute(&value, attribute, device.handle) == CUDA_SUCCESS && value != 0;
}

void describe(Device& device) {
  std::array<char, 256> name{};
  if (device.api.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device.handle) == CUDA_SUCCESS) {
    device.name = name.data();
  }
  if (device.name.empty()) device.name = "CUDA device " + std::to_string(device.ordinal);
  if (!has(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) return;
  const CUmemAllocationProp page = page_of(device.ordinal);
  std::size_t size = 0;
  const CUresult result = device.api.cuMemGetAllocationGranularity(&size, &page, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  device.vmm = result == CUDA_SUCCESS && size > 0;
  device.page_size = {device.vmm ? size : 0};
  device.exportable = has(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
  device.rdma = has(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
}

Status give_access(Device& device, const std::vector<int>& peers) {
  const auto add = [&](int ordinal) {
    device.access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, {ordinal}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  };
  add(device.ordinal);
  for (const int peer : peers) {
    CUdevice handle = 0;
    int reaches = 0;
    CUresult result = device.api.cuDeviceGet(&handle, peer);
    if (result == CUDA_SUCCESS) result = device.api.cuDeviceCanAccessPeer(&reaches, handle, device.handle);
    if (result != CUDA_SUCCESS || reaches == 0) {
      return Error{ErrorCode::unsupported,
                   "CUDA device " + std::to_string(peer) + " cannot reach device " + std::to_string(device.ordinal),
                   static_cast<int>(result)};
    }
    add(peer);
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<Driver>> make_cuda_driver(int ordinal, const CudaOptions& options) {
  const Result<CudaLibrary> library = CudaLibrary::open(options.library);
  if (!library) return library.error();
  Device device;
  device.forks = forks_seen();
  if (const char* const name = look_up(*library, device.api)) {
    return Error{ErrorCode::unsupported,
                 "no CUDA: the driver (CUDA " + cuda_version_text(library->version()) + ") has no entry point " + name,
                 0};
  }
  if (const Status found = find_device(device, ordinal); !found) return found.error();
  if (const Status access = give_access(device, options.peers); !access) return access.error();
  describe(device);
  const CUresult result = device.api.cuDevicePrimaryCtxRetain(&device.context, device.handle);
  if (result != CUDA_SUCCESS) return failure(device.api, "cuDevicePrimaryCtxRetain", result);
  return std::shared_ptr<Driver>(std::make_shared<CudaDriver>(std::move(device)));
}

}  // namespace quarry
