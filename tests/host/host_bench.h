// What the tests of host spaces share: pinned memory of a simulated device, and the size of this process.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

#include "support/sanitized.h"

namespace quarry::test {

using namespace literals;

inline Options pinned_options(bool registers, std::uint32_t threads = 1) {
  Options options;
  options.pinned_use_cuda_host_register = registers;
  options.pinned_num_register_threads = threads;
  return options;
}

// A simulated device, its own space, and pinned memory that it reaches.
struct PinnedBench {
  explicit PinnedBench(const Options& options = {}, sim::Backing backing = sim::Backing::none)
      : device(std::make_shared<sim::Device>(sim::DeviceOptions{.backing = backing})),
        gpu(*Allocator::open(device)),
        pinned(*open_pinned(gpu, options)) {}

  std::shared_ptr<sim::Device> device;
  Allocator gpu;
  Allocator pinned;
};

inline Bytes held(const Allocator& allocator) { return allocator.ledger().reserved; }
inline Bytes peak_held(const Allocator& allocator) {
  return {static_cast<std::uint64_t>(allocator.counters()[Metric::reserved_bytes].all.peak)};
}

// Every current statistic is 0 once all is freed and the cache is empty.
inline void expect_nothing_left(Allocator& allocator) {
  allocator.empty_cache();
  EXPECT_EQ(allocator.validate(), "");
  const Counters counters = allocator.counters();
  for (const Metric metric : {Metric::allocation, Metric::allocated_bytes, Metric::active, Metric::active_bytes,
                              Metric::requested_bytes, Metric::segment, Metric::reserved_bytes}) {
    const Stat& all = counters[metric].all;
    EXPECT_EQ(all.current, 0) << static_cast<int>(metric);
    EXPECT_EQ(all.allocated, all.freed) << static_cast<int>(metric);
  }
  EXPECT_EQ(held(allocator).count, 0u);
}

// Bytes of this process that are in memory now.
inline std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t pages = 0;
  file >> all >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

inline std::vector<Allocation> allocate_all(Allocator& allocator, const std::vector<Bytes>& sizes) {
  std::vector<Allocation> blocks;
  for (const Bytes size : sizes) {
    Result<Allocation> block = allocator.allocate(size.count);
    EXPECT_TRUE(block) << size.count << (block ? "" : ": " + block.error().message);
    if (block) blocks.push_back(*std::move(block));
  }
  return blocks;
}

}  // namespace quarry::test
