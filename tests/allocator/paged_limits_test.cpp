// Limits, giving back and refusals in the paged policy.
#include <random>

#include "support/paged_bench.h"

namespace quarry {
namespace {

using sim::Call;

class PagedLimits : public PagedBench {
 protected:
  // Every second page of `pages` is free: as many bytes as half of them, no two pages side by side.
  std::vector<Allocation> comb(std::size_t pages) {
    std::vector<Allocation> blocks;
    while (blocks.size() < pages) blocks.push_back(get(2_MiB));
    for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
    return blocks;
  }
};

TEST_F(PagedLimits, ReservedStaysBelowTheLimitInBytes) {
  open("memory_limit_mb:64");
  std::vector<Allocation> blocks;
  for (Result<Allocation> got = gpu_->allocate(3u << 20); got; got = gpu_->allocate(3u << 20)) {
    blocks.push_back(*std::move(got));
  }
  EXPECT_EQ(blocks.size(), 21u) << "63 of 64 MiB";
  EXPECT_EQ(reserved(), 64_MiB);
  blocks.clear();
  EXPECT_EQ(get(64_MiB).size(), (64_MiB).count);
  EXPECT_FALSE(gpu_->allocate((64_MiB + 512_B).count));
  EXPECT_EQ(gpu_->ledger().limit, 64_MiB);
}

TEST_F(PagedLimits, ReservedStaysBelowThePartOfTheDevice) {
  open("per_process_memory_fraction:0.25", {.capacity = 256_MiB});
  EXPECT_FALSE(gpu_->allocate((66_MiB).count));
  const Allocation block = get(64_MiB);
  EXPECT_EQ(reserved(), 64_MiB);
  ASSERT_TRUE(gpu_->set_memory_fraction(1.0));
  const Allocation more = get(128_MiB);
}

TEST_F(PagedLimits, ADeviceThatIsFullIsStitchedFromWhatIsFree) {
  open("", {.capacity = 64_MiB});
  const auto blocks = comb(32);
  const Allocation stitched = get(32_MiB);
  EXPECT_EQ(reserved(), 64_MiB);
  EXPECT_FALSE(gpu_->allocate(2u << 20));
}

TEST_F(PagedLimits, GarbageIsCollectedAboveItsThreshold) {
  open("per_process_memory_fraction:0.5,garbage_collection_threshold:0.5", {.capacity = 1_GiB});
  { const Allocation large = get(300_MiB); }
  const Allocation small = get(2_MiB);
  EXPECT_EQ(reserved(), 300_MiB) << "nothing is asked of the driver, so nothing is given back";
  const Allocation larger = get(310_MiB);
  EXPECT_LE(reserved(), 256_MiB + 310_MiB);
  const Counters counters = gpu_->counters();
  EXPECT_EQ(counters[Tally::num_alloc_retries], 0u);
}

// Refusals ------------------------------------------------------------------------------------------------------------

TEST_F(PagedLimits, ARejectionTriesNothing) {
  open("throw_on_cudamalloc_oom:True", {.capacity = 64_MiB});
  { const Allocation cached = get(32_MiB); }
  forget_calls();
  const Result<Allocation> refused = gpu_->allocate(100u << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(gpu_->counters()[Tally::num_oom_rejections], 1u);
  EXPECT_EQ(gpu_->counters()[Tally::num_ooms], 0u);
  EXPECT_EQ(calls(Call::unmap), 0u);
  EXPECT_EQ(reserved(), 32_MiB);
}

// What a request takes from free memory is not asked of the driver.
TEST_F(PagedLimits, ARequestFromFreePagesIsNotRejected) {
  open("throw_on_cudamalloc_oom:True", {.capacity = 64_MiB});
  const auto blocks = comb(30);
  const Allocation stitched = get(30_MiB);
  EXPECT_EQ(reserved(), 60_MiB);
  const Allocation grown = get(4_MiB);
  EXPECT_FALSE(gpu_->allocate(512));
}

TEST_F(PagedLimits, ARefusalChangesNothing) {
  open("", {.capacity = 64_MiB});
  const auto blocks = comb(20);
  const Ledger before = gpu_->ledger();
  EXPECT_FALSE(gpu_->allocate(100u << 20));
  const Ledger after = gpu_->ledger();
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_EQ(after.requested, before.requested);
  EXPECT_EQ(after.reserved, before.reserved - before.releasable) << "the caches were given back";
  const Allocation next = get(20_MiB);
}

// empty_cache ---------------------------------------------------------------------------------------------------------

class PagedEmptyCache : public PagedLimits, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Placements, PagedEmptyCache, testing::Values("placement:tight", "placement:fast"),
                         [](const auto& instance) { return std::string(instance.param).substr(10); });

TEST_P(PagedEmptyCache, ReturnsWhatTheLedgerPromised) {
  open(std::string(GetParam()) + ",stream_waits:few");
  std::mt19937_64 random(8);
  std::vector<Allocation> blocks;
  hold(1);
  Bytes returned;
  for (int i = 0; i < 1200; ++i) {
    const std::uintptr_t number = 1 + random() % 3;
    if (blocks.size() > 40) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(random() % blocks.size()));
    blocks.push_back(written({512 + random() % (random() % 3 == 0 ? 30u << 20 : 1u << 20)}, number));
    if (random() % 6 == 0) read_on(blocks.back(), number, number % 3 + 1);
    if (random() % 40 == 0) complete(1);
    if (random() % 60 != 0) continue;
    if (random() % 2 == 0)
      blocks.erase(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2));
    const Ledger before = gpu_->ledger();
    ASSERT_LE(before.releasable, before.releasable_after_wait);
    const Bytes got = gpu_->empty_cache();
    ASSERT_EQ(got, before.releasable_after_wait);
    const Ledger after = gpu_->ledger();
    ASSERT_EQ(after.reserved, before.reserved - got);
    ASSERT_EQ(after.reserved, device_->in_use());
    ASSERT_EQ(after.releasable, 0_B);
    ASSERT_EQ(after.pending, 0_B);
    returned += got;
  }
  EXPECT_GT(returned, 100_MiB);
}

TEST_F(PagedLimits, EmptyCacheGivesBackAllWhenNothingLives) {
  open();
  { const auto blocks = written(20, 5_MiB, 1); }
  const Bytes held = reserved();
  EXPECT_EQ(gpu_->empty_cache(), held);
  EXPECT_EQ(device_->holdings(), sim::Holdings{}) << "addresses and aliases too";
  const Allocation next = get(5_MiB);
}

// A wait that fails leaves everything where it was, with its streams.
TEST_F(PagedLimits, EmptyCacheWithADriverThatCannotWaitKeepsWhatItHas) {
  open();
  for (const std::uintptr_t number : {1u, 2u}) get(1_MiB, stream(number));
  hold(1);
  Allocation mine = written(16_MiB, 1);
  Allocation other = written(16_MiB, 2);
  mine.reset();
  other.reset();
  const Bytes held = reserved();
  device_->fail(Call::synchronize_device, 1, DriverCode::other);
  EXPECT_EQ(gpu_->empty_cache(), 0_B);
  sound();
  EXPECT_EQ(reserved(), held);
  wait_and_note(2, 1);
  sound();
  complete(1);
  const Allocation third = written(8_MiB, 3);
  sound();
  device_->unhold(handle(1));
  EXPECT_GT(gpu_->empty_cache(), 16_MiB);
}

TEST_F(PagedLimits, PagesTheDriverDoesNotTakeBackStayCached) {
  open();
  { const Allocation block = get(32_MiB); }
  device_->fail(Call::unmap, 3, DriverCode::other, true);
  EXPECT_EQ(gpu_->empty_cache(), 4_MiB);
  sound();
  EXPECT_EQ(reserved(), 28_MiB);
  device_->fail(Call::unmap, 0);
  const Allocation again = get(28_MiB);
  EXPECT_EQ(reserved(), 28_MiB);
}

}  // namespace
}  // namespace quarry
