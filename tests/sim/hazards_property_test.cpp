// Random programs: the checker against a plain model that keeps, for every piece of work, the set of all work before
// it.
#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <quarry/allocator/sim/device.h>
#include <quarry/allocator/sim/hazards.h>

namespace quarry::sim {
namespace {

using namespace literals;

constexpr std::size_t kStreams = 4;
constexpr std::size_t kEvents = 3;
constexpr std::size_t kSteps = 300;
using Before = std::bitset<kSteps>;  // which work happens before

struct Done {
  std::size_t stream;
  std::uint64_t sequence;
  std::size_t begin;  // bytes of the one page
  std::size_t end;
  bool writes;
};

// One page with two addresses, streams and events, driven at random; the model beside the device.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    EXPECT_TRUE(device_.map(range_, 2_MiB, &page_, 1));
    EXPECT_TRUE(device_.map(range_ + 2_MiB, 2_MiB, &page_, 1));
    for (EventHandle& event : events_) event = device_.create_event().value;
    for (void*& stream : streams_) {
      stream = device_.create_stream();
      identities_.push_back(device_.stream_identity(stream).value);
      if (pick(3) == 0) device_.hold(stream);
    }
  }

  void step() {
    const std::size_t what = pick(12);
    if (what < 6) return work();
    const std::size_t stream = pick(kStreams);
    const std::size_t event = pick(kEvents);
    if (what == 6) return record(event, stream);
    if (what == 7) return wait(stream, event);
    if (what == 8) return query(event);
    if (what == 9) return device_.advance(pick(3000));
    if (pick(4) != 0) return;
    if (what == 10) return wait_on_host(event);
    EXPECT_TRUE(device_.synchronize_stream(streams_[stream]));
    host_ |= queued_[stream];
  }

  std::size_t clean() const { return clean_; }
  std::size_t dirty() const { return dirty_; }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  void work() {
    const std::size_t stream = pick(kStreams);
    const std::size_t begin = pick(6);
    const bool writes = pick(2) == 0;
    const Done now{stream, 0, begin, begin + 1 + pick(3), writes};
    const Address at = range_ + 2_MiB * pick(2) + Bytes{begin};
    const ByteRange range{at, Bytes{now.end - now.begin}};
    const std::vector<ByteRange> ranges = {range};
    const std::uint64_t sequence =
        device_.work(streams_[stream], pick(2) * 1000, writes ? std::vector<ByteRange>{} : ranges,
                     writes ? ranges : std::vector<ByteRange>{});
    queued_[stream] |= host_;
    judge(now, device_.take_hazards());
    queued_[stream].set(done_.size());
    done_.push_back(now);
    done_.back().sequence = sequence;
  }

  // The checker may leave out a use that a later one stands in for, so not every pair must be named; but work is found
  // in conflict exactly if it is, and every pair that is named is one.
  void judge(const Done& now, const std::vector<Hazard>& hazards) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> expected;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      const Done& old = done_[i];
      const bool meet = old.begin < now.end && now.begin < old.end && (old.writes || now.writes);
      if (meet && !queued_[now.stream].test(i)) expected.emplace(identities_[old.stream], old.sequence);
    }
    EXPECT_EQ(hazards.empty(), expected.empty());
    for (const Hazard& hazard : hazards) {
      EXPECT_TRUE(expected.contains({hazard.earlier.stream, hazard.earlier.sequence})) << describe(hazard);
    }
    ++(expected.empty() ? clean_ : dirty_);
  }

  void record(std::size_t event, std::size_t stream) {
    EXPECT_TRUE(device_.record(events_[event], streams_[stream]));
    marks_[event] = queued_[stream] | host_;
  }
  void wait(std::size_t stream, std::size_t event) {
    EXPECT_TRUE(device_.wait_on_stream(streams_[stream], events_[event]));
    queued_[stream] |= marks_[event];
  }
  void query(std::size_t event) {
    if (device_.query(events_[event])) host_ |= marks_[event];
  }
  void wait_on_host(std::size_t event) {
    EXPECT_TRUE(device_.wait_on_host(events_[event]));
    host_ |= marks_[event];
  }

  std::mt19937_64 random_;
  Device device_{DeviceOptions{.profile = "free"}};
  Address range_ = device_.reserve(4_MiB).value;
  PageHandle page_ = device_.create_page(2_MiB, {}).value;
  std::array<EventHandle, kEvents> events_{};
  std::array<void*, kStreams> streams_{};
  std::vector<std::uint64_t> identities_;
  std::vector<Done> done_;
  std::array<Before, kStreams> queued_;  // before what is queued on the stream next
  std::array<Before, kEvents> marks_;
  Before host_;
  std::size_t clean_ = 0;
  std::size_t dirty_ = 0;
};

TEST(HazardProperty, ConflictsAreFoundExactlyWhereTheModelHasThem) {
  std::size_t clean = 0;
  std::size_t dirty = 0;
  for (std::uint64_t seed = 0; seed < 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program(seed);
    for (std::size_t i = 0; i < kSteps; ++i) program.step();
    clean += program.clean();
    dirty += program.dirty();
  }
  EXPECT_GT(clean, 1000u) << "the programs have edges";
  EXPECT_GT(dirty, 1000u) << "and lack some";
}

// Work in order over ever new ranges: what the host has seen is not kept.
TEST(HazardProperty, MemoryOfTheCheckerIsBounded) {
  Hazards hazards;
  VectorClock host;
  VectorClock stream;
  std::size_t most = 0;
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    stream.see(0, i);
    hazards.use({0, i, stream, host}, {1, i, {{i * 1024}, 512_B}, true}, {{i * 1024, 512_B, 0}});
    if (i % 100 == 0) host.see(0, i);
    most = std::max(most, hazards.cells());
  }
  EXPECT_LT(most, 5000u);
  EXPECT_TRUE(hazards.found().empty());
}

TEST(HazardProperty, UsesOfOneRangeDoNotPileUp) {
  Hazards hazards;
  const VectorClock host;
  VectorClock stream;
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    stream.see(0, i);
    hazards.use({0, i, stream, host}, {1, i, {{1024 + i % 64}, 512_B}, i % 2 == 0}, {{1024 + i % 64, 512_B, 0}});
  }
  EXPECT_LT(hazards.cells(), 200u);
}

}  // namespace
}  // namespace quarry::sim
