// Real threads on one space: own and shared streams, blocks handed from thread to thread, the cache emptied and options
// changed under way, everything read meanwhile. Meant for the tsan preset as well; the work is bounded by counts.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/identities.h"
#include "support/pytorch.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::oracle {
namespace {

using namespace literals;

constexpr int kWorkers = 4;
constexpr std::size_t kStride = 64 << 10;

// A block and the word that its owner wrote all over it.
struct Stamped {
  Allocation block;
  std::uint64_t word = 0;
};

// A word at each stride and one at the very end, none over another.
template <class Visit>
void at_each_place(const Allocation& block, Visit&& visit) {
  auto* bytes = static_cast<char*>(block.data());
  for (std::size_t at = 0; at + 2 * sizeof(std::uint64_t) <= block.size(); at += kStride) visit(bytes + at);
  if (block.size() >= sizeof(std::uint64_t)) visit(bytes + (block.size() - sizeof(std::uint64_t)));
}

void stamp(const Stamped& owned) {
  at_each_place(owned.block, [&](char* place) { std::memcpy(place, &owned.word, sizeof owned.word); });
}

bool intact(const Stamped& owned) {
  bool same = true;
  at_each_place(owned.block,
                [&](char* place) { same = same && std::memcmp(place, &owned.word, sizeof owned.word) == 0; });
  return same;
}

class Queue {
 public:
  void push(Stamped owned) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(std::move(owned));
  }
  bool pop(Stamped& into) {
    const std::lock_guard lock(mutex_);
    if (blocks_.empty()) return false;
    into = std::move(blocks_.front());
    blocks_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<Stamped> blocks_;
};

// What the threads of a test share.
struct Scene {
  Allocator allocator;
  bool readable = false;  // blocks may be written and read
  Queue queue{};
  std::atomic<int> working{kWorkers};
  std::atomic<int> served{0};
  std::atomic<int> refused{0};
  std::atomic<int> damaged{0};
  std::mutex mutex{};
  std::string broken{};  // first bad answer of a reader

  void report(std::string text) {
    const std::lock_guard lock(mutex);
    if (broken.empty()) broken = std::move(text);
  }
  void check(const Stamped& owned) {
    if (readable && owned.block && !intact(owned)) ++damaged;
  }
};

std::size_t random_size(std::mt19937_64& random, std::size_t largest) {
  switch (random() % 4) {
    case 0:
      return 1 + random() % 4096;
    case 1:
      return 1 + random() % (1 << 20);
    case 2:
      return (1 << 20) + random() % (4 << 20);
    default:
      return 1 + random() % largest;
  }
}

// Holds a few blocks of its own stream and of the shared one; every third goes to whoever takes it.
void work(Scene& scene, int worker, int requests, std::size_t largest) {
  std::mt19937_64 random(static_cast<std::uint64_t>(worker));
  Allocator allocator = scene.allocator;
  const Stream own = allocator.stream(&scene.queue + 1 + worker);
  std::vector<Stamped> held(12);
  for (int i = 0; i < requests; ++i) {
    Result<Allocation> block = allocator.allocate(random_size(random, largest), random() % 2 == 0 ? own : Stream{});
    if (!block) {
      ++scene.refused;
      if (block.error().code != ErrorCode::out_of_memory) scene.report(block.error().message);
      held[random() % held.size()] = {};
      continue;
    }
    ++scene.served;
    Stamped owned{*std::move(block), random()};
    if (scene.readable) stamp(owned);
    std::swap(owned, held[random() % held.size()]);
    scene.check(owned);
    if (random() % 3 == 0) scene.queue.push(std::move(owned));
    if (Stamped taken; random() % 3 == 0 && scene.queue.pop(taken)) scene.check(taken);
  }
  for (const Stamped& owned : held) scene.check(owned);
  held.clear();
  --scene.working;
}

// Reads everything that can be read while others work. validate() must hold at any instant.
void read(Scene& scene) {
  while (scene.working > 0) {
    if (std::string text = scene.allocator.validate(); !text.empty()) scene.report("validate: " + text);
    const Snapshot snapshot = scene.allocator.snapshot();
    std::vector<LiveBlock> live;
    for (const SegmentView& segment : snapshot.segments) {
      for (const BlockView& b : segment.blocks) {
        if (b.state == BlockState::live) live.push_back({b.address, b.size, b.requested});
      }
    }
    if (std::string text = broken_layout(snapshot, live); !text.empty()) scene.report("snapshot: " + text);
    const Ledger ledger = scene.allocator.stats().ledger;
    if (ledger.requested > ledger.allocated || ledger.active() > ledger.reserved) scene.report("ledger out of order");
    (void)scene.allocator.largest_available();
    std::this_thread::yield();
  }
}

void disturb(Scene& scene) {
  static constexpr const char* kSettings[] = {"", "max_split_size_mb:64", "roundup_power2_divisions:4"};
  for (std::size_t i = 0; scene.working > 0; ++i) {
    (void)scene.allocator.empty_cache();
    if (!scene.allocator.configure(kSettings[i % std::size(kSettings)])) scene.report("a good setting was refused");
    if (i % 5 == 0) scene.allocator.reset_peak();
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

void play(Scene& scene, int requests, std::size_t largest) {
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back(work, std::ref(scene), worker, requests, largest);
  }
  threads.emplace_back(read, std::ref(scene));
  threads.emplace_back(disturb, std::ref(scene));
  for (std::thread& thread : threads) thread.join();
  for (Stamped left; scene.queue.pop(left);) scene.check(left);
  EXPECT_EQ(scene.broken, "");
  EXPECT_EQ(scene.damaged, 0);
  EXPECT_EQ(scene.served + scene.refused, kWorkers * requests);
}

void expect_empty_end(Allocator& allocator, const sim::Device* device) {
  EXPECT_EQ(broken_identity(allocator, device, {}, {}), "");
  (void)allocator.empty_cache();
  EXPECT_EQ(broken_identity(allocator, device, {}, {}), "");
  EXPECT_EQ(allocator.ledger().reserved, 0_B);
}

// Real memory: whoever frees a block finds in it what was written at its birth.
TEST(Threads, NobodyWritesIntoForeignBlocks) {
  Scene scene{.allocator = *open_host(pytorch_options()), .readable = true};
  play(scene, 1000, 4 << 20);
  EXPECT_EQ(scene.refused, 0);
  expect_empty_end(scene.allocator, nullptr);
}

// A device that is too small for all of them: the ladder runs against requests, frees and empty_cache.
TEST(Threads, TheLadderUnderPressure) {
  const auto device = std::make_shared<sim::Device>(sim::DeviceOptions{.capacity = 120_MiB});
  Scene scene{.allocator = *Allocator::open(device, pytorch_options())};
  play(scene, 1500, 30 << 20);
  EXPECT_GT(scene.served, 0);
  EXPECT_GT(scene.refused, 0);
  expect_empty_end(scene.allocator, device.get());
}

// A device that takes its time, so that the other threads come to wait for the same growth.
class Slow final : public sim::AddressScript {
 public:
  Address next(Bytes) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return {};
  }
};

// Whoever waited for the grow lock searches first: what fits one segment does not get one for each thread.
TEST(Threads, GrowingTogetherSharesTheSegment) {
  Slow slow;
  const auto device = std::make_shared<sim::Device>();
  device->set_script(&slow);
  Allocator allocator = *Allocator::open(device, pytorch_options());
  std::vector<Allocation> held(kWorkers);
  std::latch start(kWorkers);
  std::vector<std::thread> threads;
  for (Allocation& mine : held) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      mine = *allocator.allocate(64 << 10);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device->segments(), 1u);
  held.clear();
  expect_empty_end(allocator, device.get());
}

// Handles and the last blocks go in any order on any thread; nothing is left behind.
TEST(Threads, TheLastOneClosesTheSpace) {
  for (int round = 0; round < 100; ++round) {
    const auto device = std::make_shared<sim::Device>();
    auto allocator = std::make_unique<Allocator>(*Allocator::open(device, pytorch_options()));
    std::vector<std::thread> threads;
    for (int worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([block = *allocator->allocate(1 << 20), handle = *allocator]() mutable { block.reset(); });
    }
    allocator.reset();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    ASSERT_EQ(device->in_use(), 0_B);
    ASSERT_EQ(device.use_count(), 1);
  }
}

}  // namespace
}  // namespace quarry::oracle
