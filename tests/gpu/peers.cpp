// Times a pair of allocate and free on one stream: quarry, CUB's caching allocator, cudaMallocAsync, cudaMalloc.
//
// hot: the same size again and again. live: a random one of 100 live blocks of mixed sizes up to the given one is freed
// and another allocated, so that caches have to search. One sample is many pairs, except for cudaMalloc.
//
// usage: gpu_peers [JSON_FILE]
#include <cuda_runtime_api.h>

#include <cub/util_allocator.cuh>

#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <quarry/allocator/allocator.h>

#include "gpu/raw_api.h"
#include "gpu/timings.h"

namespace quarry::gpu {
namespace {

constexpr std::size_t kLive = 100;
constexpr std::size_t kSamples = 50;
constexpr std::size_t kSlowSamples = 5;  // of allocators that ask the driver each time
constexpr std::uint64_t kHotSizes[] = {512, 64 << 10, 1 << 20, 32 << 20, 512ull << 20};
constexpr std::uint64_t kLiveSizes[] = {64 << 10, 4 << 20, 64 << 20};

struct Peer {
  std::string name;
  std::size_t pairs;  // in one sample
  std::size_t samples;
  std::function<void*(std::size_t)> allocate;
  std::function<void(void*)> release;
};

void must_run(cudaError_t error, const char* what) {
  if (error != cudaSuccess) stop(1, std::string(what) + " failed: " + cudaGetErrorString(error));
}

void hot(const Peer& peer, std::uint64_t size, Timings& timings) {
  for (int i = 0; i < 3; ++i) peer.release(peer.allocate(size));
  for (std::size_t sample = 0; sample < peer.samples; ++sample) {
    const double ns = time_ns([&] {
      for (std::size_t i = 0; i < peer.pairs; ++i) peer.release(peer.allocate(size));
    });
    timings.sample(peer.name + ", hot", size, ns, static_cast<double>(peer.pairs));
  }
}

// Returns the time of `pairs` rounds; the draws are made beforehand.
double churn(const Peer& peer, std::vector<void*>& live, std::uint64_t most, std::mt19937_64& random) {
  std::uniform_int_distribution<std::uint64_t> size(1, most);
  std::uniform_int_distribution<std::size_t> slot(0, kLive - 1);
  std::vector<std::pair<std::size_t, std::uint64_t>> draws(peer.pairs);
  for (auto& [at, bytes] : draws) std::tie(at, bytes) = std::pair(slot(random), size(random));
  return time_ns([&] {
    for (const auto& [at, bytes] : draws) {
      peer.release(live[at]);
      live[at] = peer.allocate(bytes);
    }
  });
}

void mixed(const Peer& peer, std::uint64_t most, Timings& timings) {
  std::mt19937_64 random(7);
  std::vector<void*> live(kLive);
  for (void*& block : live) block = peer.allocate(1 + random() % most);
  for (std::size_t warm = 0; warm < 2; ++warm) churn(peer, live, most, random);
  for (std::size_t i = 0; i < peer.samples; ++i) {
    const double ns = churn(peer, live, most, random);
    timings.sample(peer.name + ", 100 live up to", most, ns, static_cast<double>(peer.pairs));
  }
  for (void* const block : live) peer.release(block);
}

void* taken(const char* what, cudaError_t error, void* block) {
  must_run(error, what);
  return block;
}

std::vector<Peer> peers(Allocator& gpu, cub::CachingDeviceAllocator& cub, cudaStream_t stream) {
  return {{"quarry", 1000, kSamples,
           [&gpu, own = gpu.stream(stream)](std::size_t bytes) {
             const Result<void*> block = gpu.allocate_raw(bytes, own);
             return block ? *block : (stop(1, block.error().message), nullptr);
           },
           [&gpu](void* block) { gpu.deallocate(block); }},
          {"cub", 1000, kSamples,
           [&cub, stream](std::size_t bytes) {
             void* block = nullptr;
             const cudaError_t error = cub.DeviceAllocate(&block, bytes, stream);
             return taken("DeviceAllocate", error, block);
           },
           [&cub](void* block) { must_run(cub.DeviceFree(block), "DeviceFree"); }},
          {"cudaMallocAsync", 200, kSamples,
           [stream](std::size_t bytes) {
             void* block = nullptr;
             const cudaError_t error = cudaMallocAsync(&block, bytes, stream);
             return taken("cudaMallocAsync", error, block);
           },
           [stream](void* block) { must_run(cudaFreeAsync(block, stream), "cudaFreeAsync"); }},
          {"cudaMalloc", 10, kSlowSamples,
           [](std::size_t bytes) {
             void* block = nullptr;
             const cudaError_t error = cudaMalloc(&block, bytes);
             return taken("cudaMalloc", error, block);
           },
           [](void* block) { must_run(cudaFree(block), "cudaFree"); }}};
}

int run(const char* json) {
  const Result<Allocator> opened = Allocator::open(open_gpu());
  if (!opened) stop(1, opened.error().message);
  Allocator gpu = *opened;
  must_run(cudaSetDevice(0), "cudaSetDevice");
  cudaStream_t stream = nullptr;
  must_run(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  // Bins up to 1 GiB, so that every size here is cached; its default stops at 2 MiB.
  cub::CachingDeviceAllocator cub(2, 9, 30, std::size_t{8} << 30);
  // As for the others, memory stays with the pool between pairs; the default gives it back at every synchronisation.
  cudaMemPool_t pool = nullptr;
  std::uint64_t keep = UINT64_MAX;
  must_run(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
  must_run(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
  Timings timings;
  for (const Peer& peer : peers(gpu, cub, stream)) {
    for (const std::uint64_t size : kHotSizes) hot(peer, size, timings);
    for (const std::uint64_t size : kLiveSizes) mixed(peer, size, timings);
    must_run(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    gpu.empty_cache();
    must_run(cub.FreeAllCached(), "FreeAllCached");
    must_run(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
  }
  timings.print("A pair of allocate and free, host time");
  must_run(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return json == nullptr || timings.write(json) ? 0 : 1;
}

}  // namespace
}  // namespace quarry::gpu

int main(int count, char** arguments) { return quarry::gpu::run(count > 1 ? arguments[1] : nullptr); }
