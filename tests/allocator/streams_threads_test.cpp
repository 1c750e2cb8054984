// Real threads with streams on one space: blocks used on other streams, streams retired and made anew, the cache
// emptied and the settings changed under way. Meant for the tsan preset as well; the work is bounded by counts.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/identities.h"
#include "support/pytorch.h"
#include "support/tracked_block.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::hunt {
namespace {

using namespace literals;

constexpr int kWorkers = 4;
constexpr int kRequests = 1500;

struct Scene {
  std::shared_ptr<sim::Device> device;
  Allocator allocator;
  std::vector<Queue> shared;  // never retired
  std::atomic<int> working{kWorkers};
  std::atomic<int> served{0};
  std::mutex mutex{};
  std::string broken{};                     // the first bad answer
  std::vector<TrackedBlock> handed_over{};  // for whoever takes them

  Queue make_queue() {
    void* const handle = device->create_stream();
    return {handle, allocator.stream(handle)};
  }
  void report(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (broken.empty()) broken = text;
  }
  void hand_over(TrackedBlock block) {
    const std::lock_guard lock(mutex);
    handed_over.push_back(std::move(block));
  }
  std::optional<TrackedBlock> take_over() {
    const std::lock_guard lock(mutex);
    if (handed_over.empty()) return std::nullopt;
    std::optional<TrackedBlock> block(std::move(handed_over.back()));
    handed_over.pop_back();
    return block;
  }
};

// Nobody but the worker queues work on its own stream, so it may retire it at any time.
void work(Scene& scene, int worker) {
  std::mt19937_64 random(static_cast<std::uint64_t>(worker));
  Queue own = scene.make_queue();
  std::vector<std::optional<TrackedBlock>> held(8);
  const auto any_queue = [&] { return random() % 2 == 0 ? own : scene.shared[random() % scene.shared.size()]; };
  for (int i = 0; i < kRequests; ++i) {
    std::optional<TrackedBlock>& place = held[random() % held.size()];
    place.reset();
    const Queue queue = any_queue();
    Result<Allocation> block =
        scene.allocator.allocate(1 + random() % (random() % 2 == 0 ? 1 << 16 : 6 << 20), queue.stream);
    if (block) {
      ++scene.served;
      place.emplace(*scene.device, *std::move(block), queue);
      place->use(queue, true, random() % 200'000);
      place->use(any_queue(), random() % 2 == 0, random() % 200'000);
    } else if (block.error().code != ErrorCode::out_of_memory) {
      scene.report(block.error().message);
    }
    if (place && random() % 4 == 0) scene.hand_over(*std::exchange(place, std::nullopt));
    if (random() % 4 == 0) {
      if (std::optional<TrackedBlock> taken = scene.take_over()) taken->use(own, true, 50'000);
    }
    if (random() % 100 == 0) {
      scene.allocator.retire(own.stream);
      (void)scene.device->destroy_stream(own.handle);
      own = scene.make_queue();
    }
  }
  held.clear();
  --scene.working;
}

void disturb(Scene& scene) {
  static constexpr const char* kSettings[] = {"expandable_segments:True", "expandable_segments:False"};
  for (std::size_t i = 0; scene.working > 0; ++i) {
    scene.device->advance(100'000);
    if (i % 4 == 0) (void)scene.allocator.empty_cache();
    if (!scene.allocator.configure(kSettings[i / 8 % 2])) scene.report("a good setting was refused");
    if (std::string text = scene.allocator.validate(); !text.empty()) scene.report(text);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void play(Bytes capacity) {
  const auto device = std::make_shared<sim::Device>(sim::DeviceOptions{.capacity = capacity, .release_orders = true});
  Scene scene{.device = device, .allocator = *Allocator::open(device, pytorch_options()), .shared = {}};
  scene.shared = {Queue{}, scene.make_queue(), scene.make_queue()};
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker) threads.emplace_back(work, std::ref(scene), worker);
  threads.emplace_back(disturb, std::ref(scene));
  for (std::thread& thread : threads) thread.join();
  scene.handed_over.clear();
  EXPECT_EQ(scene.broken, "");
  EXPECT_GT(scene.served, kRequests);
  for (const sim::Hazard& hazard : device->take_hazards()) ADD_FAILURE() << describe(hazard);
  (void)scene.allocator.empty_cache();
  EXPECT_EQ(oracle::broken_identity(scene.allocator, device.get(), {}, {}), "");
  EXPECT_EQ(device->in_use(), 0_B);
}

TEST(StreamThreads, UsesOnOtherStreamsAreOrdered) { play(4_GiB); }
TEST(StreamThreads, TheLadderUnderPressure) { play(96_MiB); }

}  // namespace
}  // namespace quarry::hunt
