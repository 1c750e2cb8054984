// The tensor's tests on the GPU: those of tests/tensor that take any device, random schedules of asynchronous copies on
// several streams, and what only a real device shows. Exits with 77 where there is none.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include <quarry/tensor/cuda_place.h>
#include <quarry/tensor/ops.h>

#include "gpu/raw_api.h"
#include "tensor/async_copies.h"
#include "tensor/places.h"

namespace quarry::tensor_tests {

namespace {

constexpr Bytes kDelay{64ull << 20};  // one memset of it keeps a stream behind for some 20 us

// The device once for all tests: its context, and streams that nobody destroys.
struct Gpu {
  std::shared_ptr<Driver> driver = gpu::open_gpu();
  Address delay = must_have(driver->memory().allocate_segment(kDelay));
  std::vector<void*> streams;

  static Address must_have(const DriverResult<Address>& address) {
    if (!address) gpu::stop(1, "no memory to keep a stream behind");
    return address.value;
  }
  void* stream(std::size_t i) {
    while (streams.size() <= i) {
      CUstream made = nullptr;
      gpu::must(gpu::raw_api().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
      streams.push_back(made);
    }
    return streams[i];
  }
};

Gpu& the_gpu() {
  static Gpu* const opened = new Gpu;  // outlives every test; nothing is destroyed at exit
  return *opened;
}

struct GpuPlaces final : Places {
  GpuPlaces() : Places(must(open_cuda_place(the_gpu().driver, 0))) {}

  void* create_stream() override { return the_gpu().stream(streams_++); }
  void lag(void* stream, std::uint64_t random) override {
    for (std::uint64_t times = random % 8; times > 0; --times) {
      gpu::must(
          gpu::raw_api().cuMemsetD32Async(the_gpu().delay.value, 0, kDelay.count / 4, static_cast<CUstream>(stream)),
          "cuMemsetD32Async");
    }
  }
  void wait_for_all() override { gpu::must(gpu::raw_api().cuCtxSynchronize(), "cuCtxSynchronize"); }
  std::string hazard() override { return {}; }

 private:
  std::size_t streams_ = 0;
};

}  // namespace

std::unique_ptr<Places> make_places() { return std::make_unique<GpuPlaces>(); }
std::vector<const char*> place_names() { return {"gpu"}; }

namespace {

TEST(AsyncCopies, RandomSchedulesReadWhatTheyShould) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) ASSERT_EQ(run_copy_schedule(seed), "") << "schedule " << seed;
}

class GpuOnly : public testing::Test {
 protected:
  void TearDown() override { places_.expect_clean(); }
  GpuPlaces places_;
};

TEST_F(GpuOnly, ScratchIsFreedInTheOrderOfItsStream) {
  const Tensor x = must(ones(places_.device, {1 << 22}));
  void* const stream = places_.create_stream();
  must(places_.device.on(stream).wait_for(places_.device));
  places_.lag(stream, 7);
  const Tensor total = must(sum(x.on(stream)));
  const Ledger ledger = places_.device.memory().ledger();
  EXPECT_EQ(ledger.pending, Bytes{0});
  EXPECT_EQ(must(total.item()), 1 << 22);
}

// Every reduction follows the one before on another stream, through memory that the allocator hands on.
TEST_F(GpuOnly, ChainsOfWorkAcrossStreams) {
  Place from = places_.device;
  Tensor x = must(arange(from, 1 << 20, DType::i64));
  std::int64_t added = 0;
  for (int round = 0; round < 200; ++round) {
    const Place next = from.on(the_gpu().stream(1 + static_cast<std::size_t>(round) % 3));
    must(next.wait_for(from));
    if (round % 5 == 0) places_.lag(next.native_stream(), 3);
    x = must(add(x.on(next.native_stream()), round));
    added += round;
    if (round % 20 == 19) {
      const std::int64_t n = 1 << 20;
      ASSERT_EQ(values<std::int64_t>(must(sum(x))).front(), n * (n - 1) / 2 + n * added) << "round " << round;
    }
    from = next;
  }
}

// A result that takes the place of freed operands while they are read.
TEST_F(GpuOnly, DroppedOperandsKeepTheirBytes) {
  for (int round = 0; round < 100; ++round) {
    const Place side = places_.device.on(the_gpu().stream(1 + static_cast<std::size_t>(round) % 3));
    std::optional<Tensor> x = must(full(places_.device, {1 << 16}, round));
    must(side.wait_for(places_.device));
    places_.lag(side.native_stream(), 2);
    const Tensor copy = must(x->on(side.native_stream()).clone());
    x.reset();
    const Tensor other = must(full(places_.device, {1 << 16}, -1));
    ASSERT_EQ(values<float>(copy), std::vector<float>(1 << 16, static_cast<float>(round)));
  }
}

TEST_F(GpuOnly, MoreThanTwoToThe31Elements) {
  constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 12347;  // a multiple of 5, odd
  Result<Tensor> made = ones(places_.device, {kCount}, DType::u8);
  if (!made) GTEST_SKIP() << made.error().message;
  const Tensor x = *made;
  EXPECT_EQ(must(must(sum(x)).item()), static_cast<double>(kCount));
  must(must(x.narrow(0, kCount - 2, 2)).fill_(7));
  EXPECT_EQ(must(must(sum(x)).item()), static_cast<double>(kCount + 12));
  const Tensor odd = must(x.slice(0, 1, kCount, 2));  // 64-bit offsets, and a kernel's own copy
  must(add_into(odd, odd, 1));
  EXPECT_EQ(must(must(sum(must(odd.clone()))).item()), static_cast<double>(2 * (kCount / 2) + 6));
  EXPECT_EQ(values<std::uint8_t>(must(max(must(x.view({kCount / 5, 5})), 0))),
            (std::vector<std::uint8_t>{2, 2, 2, 8, 7}));
}

TEST_F(GpuOnly, DlpackNamesTheDevice) { EXPECT_EQ(places_.device.dlpack(), (DlpackDevice{2, 0})); }

}  // namespace
}  // namespace quarry::tensor_tests

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  quarry::tensor_tests::the_gpu();
  // A GPU that cannot run our kernels is a failure, and said once.
  if (const auto place = quarry::open_cuda_place(0); !place) quarry::gpu::stop(1, place.error().message);
  return RUN_ALL_TESTS();
}
