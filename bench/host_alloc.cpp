// Nanoseconds of one allocation and its free in pageable memory: quarry's open_host, glibc's malloc, and mimalloc where
// its library was found when this was configured (it says when not). Sizes from 64 B to 64 MiB, one thread.
//
// pair: the same size over and over, nothing touched. touched: the same, and one byte of every page is written, as a
// program does that uses its memory. among: a random one of 256 live blocks is replaced by one of the same size.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <quarry/allocator/allocator.h>

namespace {

constexpr std::size_t kPage = 4096;

struct Glibc {
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void free(void* pointer) { std::free(pointer); }
};

// Loaded, not linked: linked, the library would take the place of glibc's malloc in the whole program.
struct Mimalloc {
  static inline void* (*mi_malloc)(std::size_t) = nullptr;
  static inline void (*mi_free)(void*) = nullptr;

  static bool load() {
#ifdef QUARRY_MIMALLOC_LIBRARY
    if (void* const library = dlopen(QUARRY_MIMALLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      mi_malloc = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "mi_malloc"));
      mi_free = reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free"));
    }
#endif
    return mi_malloc != nullptr && mi_free != nullptr;
  }
  void* allocate(std::size_t bytes) { return mi_malloc(bytes); }
  void free(void* pointer) { mi_free(pointer); }
};

// Plain pointers, as the others; Allocation would spare quarry a look-up of the address.
struct Quarry {
  quarry::Allocator host = *quarry::open_host();
  void* allocate(std::size_t bytes) { return *host.allocate_raw(bytes); }
  void free(void* pointer) { host.deallocate(pointer); }
};

// The interface of the library itself.
struct QuarryBlocks {
  quarry::Allocator host = *quarry::open_host();
};

template <class Peer>
void pair(benchmark::State& state) {
  Peer peer;
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* pointer = peer.allocate(size);
    benchmark::DoNotOptimize(pointer);
    peer.free(pointer);
  }
  state.SetItemsProcessed(state.iterations());
}

void pair_of_blocks(benchmark::State& state) {
  QuarryBlocks peer;
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    auto block = peer.host.allocate(size);
    benchmark::DoNotOptimize(block->data());
  }
  state.SetItemsProcessed(state.iterations());
}

template <class Peer>
void touched(benchmark::State& state) {
  Peer peer;
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto pair_with_bytes = [&] {
    auto* bytes = static_cast<volatile unsigned char*>(peer.allocate(size));
    for (std::size_t at = 0; at < size; at += kPage) bytes[at] = 1;
    peer.free(const_cast<unsigned char*>(bytes));
  };
  pair_with_bytes();  // so that what a peer keeps is there, however few the iterations
  for (auto _ : state) pair_with_bytes();
  state.SetItemsProcessed(state.iterations());
}

template <class Peer>
void among(benchmark::State& state) {
  Peer peer;
  const auto size = static_cast<std::size_t>(state.range(0));
  std::mt19937_64 random(1);
  std::vector<void*> live(256);
  for (void*& pointer : live) pointer = peer.allocate(size);
  for (auto _ : state) {
    void*& pointer = live[random() % live.size()];
    peer.free(pointer);
    pointer = peer.allocate(size);
    benchmark::DoNotOptimize(pointer);
  }
  for (void* pointer : live) peer.free(pointer);
  state.SetItemsProcessed(state.iterations());
}

void sizes(benchmark::internal::Benchmark* bench) { bench->ArgName("bytes")->RangeMultiplier(32)->Range(64, 64 << 20); }
// Not the largest: 256 blocks of them are more address space than some machines grant.
void small_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("bytes")->RangeMultiplier(32)->Range(64, 2 << 20);
}

BENCHMARK(pair<Quarry>)->Apply(sizes);
BENCHMARK(pair_of_blocks)->Apply(sizes);
BENCHMARK(pair<Glibc>)->Apply(sizes);
BENCHMARK(touched<Quarry>)->Apply(sizes);
BENCHMARK(touched<Glibc>)->Apply(sizes);
BENCHMARK(among<Quarry>)->Apply(small_sizes);
BENCHMARK(among<Glibc>)->Apply(small_sizes);
void add_mimalloc() {
  if (!Mimalloc::load()) {
    std::fputs("mimalloc is not among the peers: its library was not found (package libmimalloc-dev)\n", stderr);
    return;
  }
  sizes(benchmark::RegisterBenchmark("pair<Mimalloc>", pair<Mimalloc>));
  sizes(benchmark::RegisterBenchmark("touched<Mimalloc>", touched<Mimalloc>));
  small_sizes(benchmark::RegisterBenchmark("among<Mimalloc>", among<Mimalloc>));
}

}  // namespace

int main(int count, char** arguments) {
  add_mimalloc();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
