// The CUDA backend to the driver's door: everything here runs through the stand-in libcuda, no GPU needed.
#ifdef QUARRY_STANDIN_LIBRARY

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/cuda_entries.h>
#include <quarry/allocator/driver/cuda_library.h>

#include "support/standin.h"

namespace quarry {
namespace {

using namespace literals;
using standin::control;
using standin::fresh_driver;
using standin::open_driver;
using standin::Settings;
using ::testing::HasSubstr;
using ::testing::Not;

// CUresult, by value.
constexpr int kOutOfMemory = 2;
constexpr int kDeinitialized = 4;
constexpr int kNoDevice = 100;
constexpr int kIllegalAddress = 700;
constexpr int kUnknown = 999;

constexpr Bytes kPage{2ull << 20};

Error refused(const Settings& settings, int ordinal = 0) {
  control().reset(settings);
  const Result<std::shared_ptr<Driver>> driver = open_driver(ordinal);
  EXPECT_FALSE(driver);
  return driver ? Error{} : driver.error();
}

Address allocate(Driver& driver, Bytes size) {
  const DriverResult<Address> got = driver.memory().allocate_segment(size);
  EXPECT_TRUE(got) << got.status.native;
  return got.value;
}

void expect_one_line(const Error& error, const std::string& part) {
  EXPECT_THAT(error.message, HasSubstr(part));
  EXPECT_THAT(error.message, Not(HasSubstr("\n")));
}

TEST(CudaOpen, SaysThatTheLibraryIsMissing) {
  const auto driver = make_cuda_driver(0, {"libcuda-of-nobody.so.1", {}});
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::unsupported);
  expect_one_line(driver.error(), "libcuda-of-nobody.so.1");
}

TEST(CudaOpen, SaysThatTheDriverIsTooOld) {
  const Error error = refused({.version = 11080});
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  expect_one_line(error, "11.8");
  expect_one_line(error, "12.0");
  EXPECT_NE(fresh_driver({.version = kOldestCudaDriver}), nullptr);
}

TEST(CudaOpen, NamesAMissingEntryPoint) {
#define QUARRY_NAME(name, version) #name,
  for (const std::string name : {QUARRY_CUDA_ENTRIES(QUARRY_NAME)}) {
    const Error error = refused({.missing = name});
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    expect_one_line(error, name);
    EXPECT_EQ(control().calls(""), 0u) << "nothing was called";
  }
#undef QUARRY_NAME
}

TEST(CudaOpen, SaysThatThereIsNoDevice) {
  for (const Settings& settings : {Settings{.devices = 0}, Settings{.init = kNoDevice}}) {
    const Error error = refused(settings);
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_EQ(error.native, kNoDevice);
    expect_one_line(error, "no device");
  }
}

TEST(CudaOpen, RefusesAnOrdinalThatIsNotThere) {
  for (const int ordinal : {-1, 2, 1000}) {
    const Error error = refused({.devices = 2}, ordinal);
    EXPECT_EQ(error.code, ErrorCode::invalid);
    expect_one_line(error, std::to_string(ordinal));
    expect_one_line(error, "2 devices");
  }
}

TEST(CudaOpen, PassesOnWhatTheDriverSays) {
  const Error unknown = refused({.init = kUnknown});
  EXPECT_EQ(unknown.code, ErrorCode::driver);
  EXPECT_EQ(unknown.native, kUnknown);
  expect_one_line(unknown, "CUDA_ERROR_UNKNOWN");
  control().reset({});
  control().fail("cuDevicePrimaryCtxRetain", 1, kOutOfMemory);
  const auto full = open_driver(0);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::out_of_memory);
  control().reset({});
  control().shut_down();
  const auto late = open_driver(0);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::gone);
}

TEST(CudaOpen, AFaultAtAnyCallIsAnErrorOrHarmless) {
  const auto whole = fresh_driver();
  ASSERT_NE(whole, nullptr);
  const std::uint64_t calls = control().calls("");
  ASSERT_GT(calls, 5u);
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    control().reset({});
    control().fail("", nth, kUnknown);
    {
      const auto driver = open_driver(0);
      if (!driver) {
        EXPECT_EQ(driver.error().native, kUnknown);
      }
    }
    EXPECT_EQ(control().contexts_retained(0), 0) << "fault at call " << nth;
  }
}

TEST(CudaOpen, AskedForAllocatorIsUnsupportedOrReal) {
  const Result<Allocator> allocator = open_device(0);
  if (!allocator) {
    EXPECT_FALSE(allocator.error().message.empty());
  }
}

TEST(CudaDriver, RetainsTheContextAsLongAsItLives) {
  control().reset({});
  {
    const auto first = open_driver(0);
    const auto second = open_driver(0);
    ASSERT_TRUE(first);
    EXPECT_EQ(control().contexts_retained(0), 2);
  }
  EXPECT_EQ(control().contexts_retained(0), 0);
}

TEST(CudaDriver, StatesWhatTheDeviceCan) {
  const auto driver = fresh_driver();
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(driver->memory().capabilities().name, "stand-in 0");
  EXPECT_EQ(driver->memory().capabilities().page_size, kPage);
  const auto without = fresh_driver({.device = {.capacity = 1_GiB, .mapping = false}});
  ASSERT_NE(without, nullptr);
  EXPECT_EQ(without->mapping(), nullptr);
  EXPECT_EQ(without->memory().capabilities().page_size, Bytes{});
}

TEST(CudaDriver, TranslatesCodes) {
  const auto driver = fresh_driver();
  ASSERT_NE(driver, nullptr);
  const std::vector<std::pair<int, DriverCode>> codes = {{kOutOfMemory, DriverCode::out_of_memory},
                                                         {600, DriverCode::not_ready},
                                                         {kDeinitialized, DriverCode::gone},
                                                         {3, DriverCode::gone},
                                                         {709, DriverCode::gone},
                                                         {1, DriverCode::invalid},
                                                         {101, DriverCode::invalid},
                                                         {201, DriverCode::invalid},
                                                         {400, DriverCode::invalid},
                                                         {801, DriverCode::unsupported},
                                                         {kUnknown, DriverCode::other},
                                                         {kIllegalAddress, DriverCode::other}};
  for (const auto& [native, code] : codes) {
    control().fail("cuMemGetInfo", 1, native);
    const DriverStatus status = driver->memory().info().status;
    EXPECT_EQ(status.code, code) << native;
    EXPECT_EQ(status.native, native);
    EXPECT_TRUE(driver->memory().info()) << "not sticky: " << native;
  }
}

TEST(CudaDriver, AFailedReleaseMayBeRepeated) {
  const auto driver = fresh_driver();
  ASSERT_NE(driver, nullptr);
  const Address at = allocate(*driver, 4_MiB);
  control().fail("cuMemFree", 1, kIllegalAddress);
  EXPECT_EQ(driver->memory().release_segment(at, 4_MiB).native, kIllegalAddress);
  EXPECT_EQ(control().device(0).segments(), 1u);
  EXPECT_TRUE(driver->memory().release_segment(at, 4_MiB));
  EXPECT_EQ(control().device(0).holdings(), sim::Holdings{});
}

TEST(CudaDriver, ReleasesSucceedWhileTheDriverShutsDown) {
  auto driver = fresh_driver();
  ASSERT_NE(driver, nullptr);
  Memory& memory = driver->memory();
  Mapping& mapping = *driver->mapping();
  const Address at = allocate(*driver, 4_MiB);
  const DriverResult<Address> host = memory.allocate_host(4_KiB);
  const DriverResult<Address> range = mapping.reserve(kPage);
  const DriverResult<PageHandle> page = mapping.create_page(kPage, {});
  const DriverResult<EventHandle> event = driver->ordering()->create_event();
  ASSERT_TRUE(mapping.map(range.value, kPage, &page.value, 1));
  control().shut_down();
  EXPECT_EQ(memory.allocate_segment(4_MiB).status.code, DriverCode::gone);
  EXPECT_EQ(memory.info().status.code, DriverCode::gone);
  EXPECT_EQ(driver->ordering()->query(event.value).code, DriverCode::gone);
  EXPECT_TRUE(memory.release_segment(at, 4_MiB));
  EXPECT_TRUE(memory.release_host(host.value, 4_KiB));
  EXPECT_TRUE(mapping.unmap(range.value, kPage));
  EXPECT_TRUE(mapping.destroy_page(page.value));
  EXPECT_TRUE(mapping.unreserve(range.value, kPage));
  EXPECT_TRUE(driver->ordering()->destroy_event(event.value));
}

// What a child of this process finds; exit code 0 = all is as promised.
int after_fork(std::shared_ptr<Driver> driver, Address at) {
  const std::uint64_t calls = control().calls("");
  int wrong = 0;
  wrong += driver->memory().allocate_segment(2_MiB).status.code != DriverCode::gone;
  wrong += driver->memory().release_segment(at, 4_MiB).code != DriverCode::gone;
  wrong += driver->memory().info().status.code != DriverCode::gone;
  wrong += driver->mapping()->reserve(kPage).status.code != DriverCode::gone;
  wrong += driver->ordering()->synchronize_device().code != DriverCode::gone;
  wrong += driver->ordering()->create_event().status.code != DriverCode::gone;
  driver.reset();
  wrong += control().calls("") != calls;
  const Result<std::shared_ptr<Driver>> again = open_driver(0);
  wrong += again || again.error().code != ErrorCode::gone;
  return wrong;
}

TEST(CudaDriver, IsGoneInAForkedChildAndLivesOnInTheParent) {
  auto driver = fresh_driver();
  ASSERT_NE(driver, nullptr);
  const Address at = allocate(*driver, 4_MiB);
  const pid_t child = fork();
  if (child == 0) _exit(after_fork(std::move(driver), at));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(driver->memory().release_segment(at, 4_MiB));
}

// The test's own view of the current context.
class Contexts {
 public:
  Contexts() : library_(CudaLibrary::open(QUARRY_STANDIN_LIBRARY)) {}

  void* current() {
    void* context = nullptr;
    reinterpret_cast<int (*)(void**)>(library_->find("cuCtxGetCurrent", 4000))(&context);
    return context;
  }
  void* retain(int device) {
    void* context = nullptr;
    reinterpret_cast<int (*)(void**, int)>(library_->find("cuDevicePrimaryCtxRetain", 7000))(&context, device);
    return context;
  }
  void push(void* context) { reinterpret_cast<int (*)(void*)>(library_->find("cuCtxPushCurrent", 4000))(context); }
  void pop() {
    void* context = nullptr;
    reinterpret_cast<int (*)(void**)>(library_->find("cuCtxPopCurrent", 4000))(&context);
  }

 private:
  Result<CudaLibrary> library_;
};

// One of each call, some of them refused.
std::vector<std::function<void()>> one_of_each(Driver& driver) {
  Memory& memory = driver.memory();
  Mapping& mapping = *driver.mapping();
  Ordering& ordering = *driver.ordering();
  return {[&] { EXPECT_TRUE(memory.info()); },
          [&] {
            const Address at = allocate(driver, 2_MiB);
            EXPECT_TRUE(memory.release_segment(at, 2_MiB));
          },
          [&] { EXPECT_EQ(memory.allocate_segment(8_GiB).status.code, DriverCode::out_of_memory); },
          [&] {
            const DriverResult<Address> at = memory.allocate_host(4_KiB);
            EXPECT_TRUE(memory.release_host(at.value, 4_KiB));
          },
          [&] { EXPECT_EQ(mapping.destroy_page(PageHandle{12345}).code, DriverCode::invalid); },
          [&] {
            const DriverResult<Address> at = mapping.reserve(kPage);
            const DriverResult<PageHandle> page = mapping.create_page(kPage, {});
            EXPECT_TRUE(mapping.map(at.value, kPage, &page.value, 1));
            EXPECT_TRUE(mapping.unmap(at.value, kPage));
            EXPECT_TRUE(mapping.destroy_page(page.value));
            EXPECT_TRUE(mapping.unreserve(at.value, kPage));
          },
          [&] {
            const DriverResult<EventHandle> event = ordering.create_event();
            EXPECT_TRUE(ordering.stream_identity(nullptr));
            EXPECT_TRUE(ordering.record(event.value, nullptr));
            EXPECT_TRUE(ordering.wait_on_stream(nullptr, event.value));
            EXPECT_TRUE(ordering.wait_on_host(event.value));
            EXPECT_TRUE(ordering.query(event.value));
            EXPECT_TRUE(ordering.destroy_event(event.value));
            EXPECT_EQ(ordering.query(event.value).code, DriverCode::invalid) << "a destroyed event";
          },
          [&] { EXPECT_TRUE(ordering.synchronize_stream(nullptr)); },
          [&] { EXPECT_TRUE(ordering.synchronize_device()); },
          [&] { EXPECT_TRUE(ordering.capture_open(nullptr)); }};
}

TEST(CudaDriver, LeavesTheCallersContextCurrent) {
  control().reset({.devices = 2});
  const auto driver = open_driver(0);
  ASSERT_TRUE(driver);
  Contexts contexts;
  for (void* const wanted : {static_cast<void*>(nullptr), contexts.retain(0), contexts.retain(1)}) {
    if (wanted != nullptr) contexts.push(wanted);
    for (const auto& call : one_of_each(**driver)) {
      call();
      EXPECT_EQ(contexts.current(), wanted);
    }
    if (wanted != nullptr) contexts.pop();
  }
}

TEST(CudaContext, IsCurrentForAScope) {
  control().reset({.devices = 2});
  const auto driver = open_driver(0);
  ASSERT_TRUE(driver);
  Contexts contexts;
  void* const ours = contexts.retain(0);
  void* const another = contexts.retain(1);
  for (void* const callers : {static_cast<void*>(nullptr), ours, another}) {
    if (callers != nullptr) contexts.push(callers);
    {
      const CudaContext scope(**driver);
      EXPECT_TRUE(scope.status());
      EXPECT_EQ(contexts.current(), ours);
    }
    EXPECT_EQ(contexts.current(), callers);
    if (callers != nullptr) contexts.pop();
  }
  control().fail("cuCtxPushCurrent", 1, kOutOfMemory);
  EXPECT_EQ(CudaContext(**driver).status().code, DriverCode::out_of_memory);
  EXPECT_EQ(contexts.current(), nullptr);
}

TEST(CudaDriver, DevicesAreApart) {
  control().reset({.devices = 2});
  const auto first = open_driver(0);
  const auto second = open_driver(1);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  const Address at = allocate(**first, 4_MiB);
  const Address other = allocate(**second, 8_MiB);
  EXPECT_EQ(control().device(0).in_use(), 4_MiB);
  EXPECT_EQ(control().device(1).in_use(), 8_MiB);
  EXPECT_EQ((*second)->memory().release_segment(at, 4_MiB).code, DriverCode::invalid);
  const DriverResult<EventHandle> event = (*first)->ordering()->create_event();
  EXPECT_EQ((*second)->ordering()->record(event.value, nullptr).code, DriverCode::invalid);
  EXPECT_TRUE((*first)->memory().release_segment(at, 4_MiB));
  EXPECT_TRUE((*second)->memory().release_segment(other, 8_MiB));
}

TEST(CudaDriver, GivesMappedMemoryToPeersThatCanReachIt) {
  control().reset({.devices = 2});
  EXPECT_TRUE(open_driver(0, {1}));
  const auto unknown = open_driver(0, {7});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unsupported);
  control().reset({.devices = 2, .peers = false});
  const auto apart = open_driver(0, {1});
  ASSERT_FALSE(apart);
  expect_one_line(apart.error(), "cannot reach");
}

struct MappedRange {
  std::shared_ptr<Driver> driver = fresh_driver();
  Mapping& mapping = *driver->mapping();
  Address at = mapping.reserve(kPage * 4).value;
  std::array<PageHandle, 4> pages = {mapping.create_page(kPage, {}).value, mapping.create_page(kPage, {}).value,
                                     mapping.create_page(kPage, {}).value, mapping.create_page(kPage, {}).value};

  DriverStatus map() { return mapping.map(at, kPage, pages.data(), pages.size()); }
};

TEST(CudaMapping, IsOneMapAPageAndOneAccessCall) {
  MappedRange range;
  ASSERT_TRUE(range.map());
  EXPECT_EQ(control().calls("cuMemMap"), 4u);
  EXPECT_EQ(control().calls("cuMemSetAccess"), 1u);
  EXPECT_EQ(range.mapping.unreserve(range.at, kPage * 4).code, DriverCode::invalid) << "mapped";
  EXPECT_TRUE(range.mapping.unmap(range.at + kPage, kPage * 3));
  EXPECT_EQ(range.mapping.unmap(range.at, kPage * 2).code, DriverCode::invalid) << "not wholly mapped";
  EXPECT_TRUE(range.mapping.unmap(range.at, kPage));
  EXPECT_TRUE(range.mapping.unreserve(range.at, kPage * 4));
}

TEST(CudaMapping, HoldsOrLeavesNothingMapped) {
  MappedRange range;
  const std::vector<std::pair<const char*, std::uint64_t>> places = {
      {"cuMemMap", 1}, {"cuMemMap", 2}, {"cuMemMap", 4}, {"cuMemSetAccess", 1}};
  for (const auto& [call, nth] : places) {
    control().fail(call, nth, kOutOfMemory);
    EXPECT_EQ(range.map().code, DriverCode::out_of_memory);
    EXPECT_EQ(control().device(0).holdings().mappings, 0u) << call << nth;
  }
  // Nothing is in the way of the next one.
  EXPECT_TRUE(range.map());
  EXPECT_TRUE(range.mapping.unmap(range.at, kPage * 4));
  for (const PageHandle page : range.pages) EXPECT_TRUE(range.mapping.destroy_page(page));
  EXPECT_TRUE(range.mapping.unreserve(range.at, kPage * 4));
  EXPECT_EQ(control().device(0).holdings(), sim::Holdings{});
}

TEST(CudaMapping, RefusesHandlesThatTheDeviceCannotExport) {
  const auto able = fresh_driver();
  EXPECT_TRUE(able->mapping()->create_page(kPage, {.exportable = true, .rdma = true}));
  const auto unable = fresh_driver({.exportable = false, .rdma = false});
  EXPECT_EQ(unable->mapping()->create_page(kPage, {.exportable = true}).status.code, DriverCode::unsupported);
  EXPECT_EQ(unable->mapping()->create_page(kPage, {.rdma = true}).status.code, DriverCode::unsupported);
  EXPECT_TRUE(unable->mapping()->create_page(kPage, {}));
}

TEST(CudaOrdering, EventsFollowTheWorkOfTheirStream) {
  const auto driver = fresh_driver();
  Ordering& ordering = *driver->ordering();
  sim::Device& device = control().device(0);
  void* const stream = device.create_stream();
  const EventHandle event = ordering.create_event().value;
  device.hold(stream);
  device.work(stream, 1000);
  ASSERT_TRUE(ordering.record(event, stream));
  EXPECT_EQ(ordering.query(event).code, DriverCode::not_ready);
  device.complete(stream);
  device.advance(1'000'000);
  EXPECT_TRUE(ordering.query(event));
  EXPECT_TRUE(ordering.destroy_event(event));
  EXPECT_EQ(ordering.destroy_event(event).code, DriverCode::invalid);
}

TEST(CudaOrdering, ARecreatedHandleIsAnotherStream) {
  const auto driver = fresh_driver();
  sim::Device& device = control().device(0);
  void* const stream = device.create_stream();
  const std::uint64_t first = driver->ordering()->stream_identity(stream).value;
  EXPECT_EQ(driver->ordering()->stream_identity(stream).value, first);
  ASSERT_TRUE(device.destroy_stream(stream));
  ASSERT_EQ(device.create_stream(), stream) << "the simulated device hands the handle out again";
  EXPECT_NE(driver->ordering()->stream_identity(stream).value, first);
}

TEST(CudaOrdering, SaysWhetherACaptureIsOpen) {
  const auto driver = fresh_driver();
  sim::Device& device = control().device(0);
  void* const stream = device.create_stream();
  EXPECT_FALSE(driver->ordering()->capture_open(stream).value);
  ASSERT_TRUE(device.begin_capture(stream));
  EXPECT_TRUE(driver->ordering()->capture_open(stream).value);
  ASSERT_TRUE(device.end_capture(stream));
  EXPECT_FALSE(driver->ordering()->capture_open(stream).value);
  constexpr int kCaptureImplicit = 906;
  control().fail("cuStreamIsCapturing", 1, kCaptureImplicit);
  const DriverResult<bool> elsewhere = driver->ordering()->capture_open(nullptr);
  EXPECT_TRUE(elsewhere);
  EXPECT_TRUE(elsewhere.value);
}

}  // namespace
}  // namespace quarry

#else

#include <gtest/gtest.h>

#include <quarry/allocator/allocator.h>

namespace quarry {
namespace {

TEST(CudaOpen, SaysThatThereIsNoCudaInThisBuild) {
  const Result<Allocator> allocator = open_device(0);
  ASSERT_FALSE(allocator);
  EXPECT_EQ(allocator.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace quarry

#endif
