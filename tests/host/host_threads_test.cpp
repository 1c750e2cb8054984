// Real threads on pinned and on pageable memory. Meant for the thread sanitizer as well; bounded by counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry {
namespace {

constexpr int kWorkers = 4;
constexpr int kSteps = 400;

void run_workers(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int id = 0; id < kWorkers; ++id) threads.emplace_back(work, id);
  for (std::thread& thread : threads) thread.join();
}

std::size_t random_size(std::mt19937_64& random) { return 1 + random() % (std::size_t{1} << (4 + random() % 18)); }

void expect_empty(Allocator& allocator) {
  allocator.empty_cache();
  EXPECT_EQ(allocator.validate(), "");
  EXPECT_EQ(allocator.ledger().reserved.count, 0u);
  EXPECT_EQ(allocator.ledger().live_blocks, 0u);
}

// Each worker writes a block, queues a copy out of it, and frees it at once. The copy must find the bytes as written.
void pinned_workers(bool registers) {
  auto device = std::make_shared<sim::Device>(sim::DeviceOptions{.backing = sim::Backing::memfd});
  Options options;
  options.pinned_use_cuda_host_register = registers;
  options.pinned_num_register_threads = 2;
  Allocator pinned = *open_pinned(*Allocator::open(device), options);
  std::atomic<int> wrong{0};
  std::atomic<int> seen{0};
  run_workers([&](int id) {
    std::mt19937_64 random(static_cast<std::uint64_t>(id) + 1);
    void* const handle = device->create_stream();
    const Stream stream = pinned.stream(handle);
    for (int i = 0; i < kSteps; ++i) {
      auto block = *pinned.allocate(random_size(random));
      const int value = (id * 64 + i) % 256;
      std::memset(block.data(), value, block.size());
      const auto* bytes = static_cast<const unsigned char*>(block.data());
      device->work(handle, random() % 20000, {{block.address(), {block.size()}}}, {},
                   [&, bytes, size = block.size(), value] {
                     ++seen;
                     if (bytes[0] != value || bytes[size / 2] != value || bytes[size - 1] != value) ++wrong;
                   });
      block.used_on(stream);
      block.reset();
      if (i % 16 == id) device->advance(10000);
      if (i % 100 == 25 * id) pinned.empty_cache();
    }
  });
  (void)device->synchronize_device();
  EXPECT_EQ(seen, kWorkers * kSteps);
  EXPECT_EQ(wrong, 0);
  for (const sim::Hazard& hazard : device->hazards()) ADD_FAILURE() << sim::describe(hazard);
  expect_empty(pinned);
}

TEST(PinnedThreads, CopiesSeeTheBytesOfTheirBlock) { pinned_workers(false); }
TEST(PinnedThreads, CopiesSeeTheBytesOfTheirBlockInRegisteredMemory) { pinned_workers(true); }

TEST(PageableThreads, BlocksAreNobodyElses) {
  Allocator host = *open_host();
  std::atomic<int> wrong{0};
  run_workers([&](int id) {
    std::mt19937_64 random(static_cast<std::uint64_t>(id) + 11);
    std::vector<Allocation> live(8);
    for (int i = 0; i < kSteps; ++i) {
      Allocation& one = live[random() % live.size()];
      if (one) {
        const auto* bytes = static_cast<const unsigned char*>(one.data());
        if (bytes[0] != id || bytes[one.size() - 1] != id) ++wrong;
      }
      one = *host.allocate(random_size(random));
      std::memset(one.data(), id, one.size());
      if (i % 100 == 25 * id) host.empty_cache();
    }
  });
  EXPECT_EQ(wrong, 0);
  expect_empty(host);
}

}  // namespace
}  // namespace quarry
