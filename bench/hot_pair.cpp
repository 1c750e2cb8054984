// What one allocate and one free cost: a hot pair of one size, and random sizes among many live blocks. Over the
// simulated device, so that the allocator's own work is all there is. The second must grow no faster than log N.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace {

quarry::Allocator fresh() { return *quarry::sim::open(); }

// The same block over and over: one search that hits, no driver call.
void hot_pair(benchmark::State& state) {
  quarry::Allocator allocator = fresh();
  const auto size = static_cast<std::size_t>(state.range(0));
  { const auto warm = *allocator.allocate(size); }
  for (auto _ : state) {
    auto block = allocator.allocate(size);
    benchmark::DoNotOptimize(block->data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hot_pair)->ArgName("bytes")->Arg(512)->Arg(1 << 20)->Arg(32 << 20);

std::size_t random_size(std::mt19937_64& random) {
  const std::uint64_t scale = 9 + random() % 14;  // 512 B .. 8 MiB, each power of two as likely
  return (std::size_t{1} << scale) + random() % (std::size_t{1} << scale);
}

// Replaces a random one of `live` blocks by one of another size: searches, splits and merges, rarely a new segment.
void random_among(benchmark::State& state) {
  quarry::Allocator allocator = fresh();
  std::mt19937_64 random(1);
  std::vector<quarry::Allocation> live;
  for (std::int64_t i = 0; i < state.range(0); ++i) live.push_back(*allocator.allocate(random_size(random)));
  for (auto _ : state) {
    quarry::Allocation& old = live[random() % live.size()];
    old.reset();
    old = *allocator.allocate(random_size(random));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(random_among)->ArgName("live")->Arg(1'000)->Arg(10'000)->Arg(100'000);

// A pair whose best fit lies in an index of many free blocks of some ten thousand sizes.
void pair_among_free(benchmark::State& state) {
  quarry::Allocator allocator = fresh();
  std::vector<quarry::Allocation> walls;
  {
    std::vector<quarry::Allocation> holes;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      holes.push_back(*allocator.allocate(static_cast<std::size_t>((2 << 20) + i * 512 % (5 << 20))));
      walls.push_back(*allocator.allocate((1 << 20) + 512));  // keeps the holes apart
    }
  }
  std::mt19937_64 random(1);
  for (auto _ : state) {
    auto block = allocator.allocate((2 << 20) + random() % (5 << 20));
    benchmark::DoNotOptimize(block->data());
  }
  state.counters["free_blocks"] = static_cast<double>(allocator.ledger().free_blocks);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(pair_among_free)->ArgName("holes")->Arg(1'000)->Arg(10'000)->Arg(100'000);

}  // namespace

BENCHMARK_MAIN();
