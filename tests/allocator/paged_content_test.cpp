// The paged policy on real memory: every block is filled at its birth and must hold the same bytes whenever it is
// looked at and when it is freed. Blocks under an alias are written and read through the alias, so bytes that two
// blocks share by mistake are found.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/tracked_block.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/host.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::paged {
namespace {

using hunt::Queue;
using hunt::TrackedBlock;

struct Setup {
  PlacementRule placement;
  std::uint64_t page_kib;
};

// Every byte of a block, as its owner wrote it: words that count up from a number of the block's own.
struct Pattern {
  unsigned char* bytes;
  std::size_t size;
  std::uint64_t first;

  void write() const {
    std::size_t at = 0;
    for (std::uint64_t word = first; at + sizeof word <= size; at += sizeof word, ++word) {
      std::memcpy(bytes + at, &word, sizeof word);
    }
    for (; at < size; ++at) bytes[at] = static_cast<unsigned char>(first + at);
  }
  bool stands() const {
    std::uint64_t wrong = 0;
    std::size_t at = 0;
    for (std::uint64_t word = first; at + sizeof word <= size; at += sizeof word, ++word) {
      std::uint64_t found;
      std::memcpy(&found, bytes + at, sizeof found);
      wrong |= found ^ word;
    }
    for (; at < size; ++at) wrong |= bytes[at] ^ static_cast<unsigned char>(first + at);
    return wrong == 0;
  }
};

class PagedContent : public testing::TestWithParam<Setup> {
 protected:
  Bytes page() const { return {GetParam().page_kib << 10}; }
  Options options(Bytes limit) const {
    Options options;
    options.policy = Policy::paged;
    options.placement = GetParam().placement;
    options.page_size = page();
    options.memory_limit = limit;
    return options;
  }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // Whole pages and a bit, odd bytes, parts of a page.
  std::size_t size() {
    const std::uint64_t p = page().count;
    switch (below(16)) {
      case 0:
        return p / 2 + 512 * below(4) + below(2);
      case 1:
      case 2:
        return p * (1 + below(3)) + 1 + below(p);
      case 3:
        return p * (1 + below(3));
      case 4:
        return 1 + below(p);
      default:
        return 1 + below(p / 8);
    }
  }
  std::uint64_t fresh_number() { return numbers_ += 1ull << 32; }

  std::mt19937_64 random_{20261201};
  std::uint64_t numbers_ = 0;
  std::uint64_t damaged_ = 0;
};
class PagedContentLong : public PagedContent {};

// Host ----------------------------------------------------------------------------------------------------------------

struct Held {
  Allocation block;
  std::uint64_t first = 0;

  Pattern pattern() const { return {static_cast<unsigned char*>(block.data()), block.size(), first}; }
};

class HostContent : public PagedContent {
 protected:
  void play(std::uint64_t operations) {
    Allocator host = *Allocator::open(make_host_driver(), options(page() * 160));
    std::vector<Held> held(48);
    std::uint64_t served = 0;
    for (std::uint64_t i = 0; i < operations && damaged_ == 0; ++i) {
      Held& place = held[below(held.size())];
      if (place.block && below(3) == 0) {  // looked at only
        damaged_ += place.pattern().stands() ? 0 : 1;
        continue;
      }
      if (place.block && !place.pattern().stands()) ++damaged_;
      place.block.reset();
      if (below(1000) == 0) (void)host.empty_cache();
      const Stream stream = host.stream(reinterpret_cast<void*>(below(3)));
      Result<Allocation> got = host.allocate(Request{.size = {size()}, .stream = stream, .contiguous = below(30) == 0});
      if (!got) continue;
      ++served;
      place = {*std::move(got), fresh_number()};
      place.pattern().write();
    }
    for (const Held& last : held) damaged_ += last.block && !last.pattern().stands() ? 1 : 0;
    EXPECT_EQ(damaged_, 0u);
    EXPECT_GT(served, operations / 3);
    EXPECT_GT(host.counters()[Tally::num_alias_maps], 0u);
    EXPECT_EQ(host.validate(), "");
    held.clear();
    (void)host.empty_cache();
    EXPECT_EQ(host.ledger().reserved, Bytes{});
  }
};
class HostContentLong : public HostContent {};

TEST_P(HostContent, EveryByteIsReadBackAsWritten) { play(1000); }

// 10^6 operations: QUARRY_LONG=1 quarry_tests --gtest_filter='*ContentLong.*'
TEST_P(HostContentLong, EveryByteIsReadBackAsWritten_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  play(1'000'000);
}

// Simulated device: the bytes are written and read by queued work
// ------------------------------------------------------

class DeviceContent : public PagedContent {
 protected:
  struct Block {
    std::unique_ptr<TrackedBlock> tracked;
    std::uint64_t first = 0;
  };

  void play(std::uint64_t operations) {
    device_ = std::make_shared<sim::Device>(sim::DeviceOptions{
        .capacity = page() * 160, .profile = "free", .page_granularity = page(), .backing = sim::Backing::memfd});
    Allocator gpu = *Allocator::open(device_, options(kUnlimited));
    for (std::size_t i = 1; i < queues_.size(); ++i) {
      queues_[i].handle = device_->create_stream();
      queues_[i].stream = gpu.stream(queues_[i].handle);
    }
    std::vector<Block> held(48);
    std::uint64_t served = 0;
    for (std::uint64_t i = 0; i < operations && damaged_ == 0; ++i) {
      rare(gpu);
      Block& place = held[below(held.size())];
      const bool frees = place.tracked == nullptr || below(3) != 0;
      if (place.tracked != nullptr) read(place, queues_[frees ? below(2) : below(queues_.size())]);
      if (!frees) continue;
      place.tracked.reset();
      const Queue& queue = queues_[below(queues_.size())];
      Result<Allocation> got = gpu.allocate(size(), queue.stream);
      if (!got) continue;
      ++served;
      place = {std::make_unique<TrackedBlock>(*device_, *std::move(got), queue), fresh_number()};
      write(place, queue);
    }
    for (const Block& last : held) {
      if (last.tracked != nullptr) read(last, queues_[0]);
    }
    held.clear();
    (void)gpu.empty_cache();
    for (const sim::Hazard& hazard : device_->take_hazards()) ADD_FAILURE() << describe(hazard);
    EXPECT_TRUE(device_->idle());
    EXPECT_EQ(damaged_, 0u);
    EXPECT_GT(served, operations / 3);
    const Counters counters = gpu.counters();
    EXPECT_GT(counters[Tally::num_alias_maps], 0u);
    EXPECT_GT(counters[Tally::num_stream_waits], 0u);
    EXPECT_EQ(gpu.validate(), "");
    EXPECT_EQ(gpu.ledger().reserved, Bytes{});
  }

 private:
  static Pattern pattern(const Block& block) {
    return {static_cast<unsigned char*>(block.tracked->data()), block.tracked->requested().count, block.first};
  }
  std::uint64_t duration() { return below(3) * 1000; }
  void write(const Block& block, const Queue& queue) {
    block.tracked->use(queue, true, duration(), [pattern = pattern(block)] { pattern.write(); });
  }
  void read(const Block& block, const Queue& queue) {
    block.tracked->use(queue, false, duration(), [this, pattern = pattern(block)] {
      if (!pattern.stands()) ++damaged_;
    });
  }

  void rare(Allocator& gpu) {
    const std::uint64_t dice = below(2000);
    if (dice < 100) return device_->advance(1000 * (1 + below(20)));
    if (dice < 102) return static_cast<void>(gpu.empty_cache());
    if (dice > 140) return;
    const Queue& waiter = queues_[below(queues_.size())];
    const Queue& on = queues_[below(queues_.size())];
    if (waiter.handle == on.handle) return;
    const EventHandle event = device_->create_event().value;
    (void)device_->record(event, on.handle);
    (void)device_->wait_on_stream(waiter.handle, event);
    (void)device_->destroy_event(event);
    gpu.note_wait(waiter.stream, on.stream);
  }

  std::shared_ptr<sim::Device> device_;
  std::array<Queue, 4> queues_{};
};
class DeviceContentLong : public DeviceContent {};

TEST_P(DeviceContent, EveryByteIsReadBackAsWritten) { play(1000); }

TEST_P(DeviceContentLong, EveryByteIsReadBackAsWritten_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  play(1'000'000);
}

std::string name(const testing::TestParamInfo<Setup>& info) {
  return std::string(info.param.placement == PlacementRule::tight ? "tight_" : "fast_") +
         std::to_string(info.param.page_kib) + "KiB";
}

const auto kSetups = testing::Values(Setup{PlacementRule::tight, 64}, Setup{PlacementRule::tight, 2048},
                                     Setup{PlacementRule::fast, 64}, Setup{PlacementRule::fast, 2048});
INSTANTIATE_TEST_SUITE_P(Setups, HostContent, kSetups, name);
INSTANTIATE_TEST_SUITE_P(Setups, HostContentLong, kSetups, name);
INSTANTIATE_TEST_SUITE_P(Setups, DeviceContent, kSetups, name);
INSTANTIATE_TEST_SUITE_P(Setups, DeviceContentLong, kSetups, name);

}  // namespace
}  // namespace quarry::paged
