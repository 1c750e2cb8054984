// The nine runtime calls over a simulated device, alone and under CUB's own header.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cub/util_allocator.cuh>

#include "bench/peers/cub_runtime.h"

namespace quarry::bench {
namespace {

std::shared_ptr<sim::Device> device(Bytes capacity = kUnlimited) {
  sim::DeviceOptions options;
  options.capacity = capacity;
  return std::make_shared<sim::Device>(options);
}

TEST(CubRuntime, SegmentsComeFromTheDeviceAndGoBack) {
  const auto gpu = device();
  CubRuntime runtime(gpu, CudaEvents::simulated);
  runtime.enter();
  void* block = nullptr;
  ASSERT_EQ(cudaMalloc(&block, 1000), cudaSuccess);
  EXPECT_EQ(gpu->segments(), 1u);
  EXPECT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_EQ(gpu->segments(), 0u);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(block), cudaErrorInvalidValue);
  EXPECT_EQ(runtime.count(CudaCall::malloc), 1u);
  EXPECT_EQ(runtime.count(CudaCall::free), 3u);
}

TEST(CubRuntime, TheLastErrorIsToldOnce) {
  CubRuntime runtime(device(Bytes{2 << 20}), CudaEvents::simulated);
  runtime.enter();
  void* block = nullptr;
  EXPECT_EQ(cudaMalloc(&block, 3 << 20), cudaErrorMemoryAllocation);
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CubRuntime, ThereIsOneDevice) {
  CubRuntime runtime(device(), CudaEvents::simulated);
  runtime.enter();
  int number = -1;
  EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
  EXPECT_EQ(number, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
}

TEST(CubRuntime, WithoutOneCallsFail) {
  { CubRuntime(device(), CudaEvents::simulated).enter(); }
  int number = -1;
  EXPECT_EQ(cudaGetDevice(&number), cudaErrorNoDevice);
}

TEST(CubRuntime, AnEventIsReadyWhenTheWorkBeforeItIs) {
  const auto gpu = device();
  CubRuntime runtime(gpu, CudaEvents::simulated);
  runtime.enter();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  gpu->work(nullptr, 1'000'000'000);
  ASSERT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  gpu->advance(2'000'000'000);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidValue);
}

TEST(CubRuntime, InstantEventsAreAlwaysReadyAndNeverReachTheDevice) {
  const auto gpu = device();
  CubRuntime runtime(gpu, CudaEvents::instant);
  runtime.enter();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  gpu->work(nullptr, 1'000'000'000);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(gpu->call_counts()[static_cast<std::size_t>(sim::Call::record)], 0u);
  EXPECT_EQ(runtime.count(CudaCall::event_record), 1u);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

// What CUB promises: its own stream at once, another one when the work is done.
TEST(CubRuntime, CubCachesOverIt) {
  const auto gpu = device();
  CubRuntime runtime(gpu, CudaEvents::simulated);
  runtime.enter();
  const auto other = reinterpret_cast<cudaStream_t>(gpu->create_stream());
  cub::CachingDeviceAllocator memory(2, 8, 33);
  void* first = nullptr;
  ASSERT_EQ(memory.DeviceAllocate(&first, 1000), cudaSuccess);
  gpu->work(nullptr, 1'000'000'000);
  ASSERT_EQ(memory.DeviceFree(first), cudaSuccess);
  void* foreign = nullptr;
  ASSERT_EQ(memory.DeviceAllocate(&foreign, 1000, other), cudaSuccess);
  EXPECT_NE(foreign, first);
  void* own = nullptr;
  ASSERT_EQ(memory.DeviceAllocate(&own, 700), cudaSuccess);
  EXPECT_EQ(own, first);
  EXPECT_EQ(runtime.count(CudaCall::malloc), 2u);
  EXPECT_EQ(memory.DeviceFree(own), cudaSuccess);
  EXPECT_EQ(memory.DeviceFree(foreign), cudaSuccess);
  EXPECT_EQ(memory.FreeAllCached(), cudaSuccess);
  EXPECT_EQ(gpu->segments(), 0u);
  EXPECT_EQ(gpu->holdings().events, 0u);
}

}  // namespace
}  // namespace quarry::bench
