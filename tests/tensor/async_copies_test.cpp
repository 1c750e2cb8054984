// Asynchronous copies hold their blocks.
#include "tensor/async_copies.h"

#include <cstdlib>
#include <optional>

#include <quarry/tensor/planted_omission.h>
#include "tensor/sim_places.h"

namespace quarry::tensor_tests {
namespace {

// Switches the record of streams off for a scope.
struct Omission {
  Omission() { planted_omission = true; }
  ~Omission() { planted_omission = false; }
};

void run_schedules(std::uint64_t count) {
  for (std::uint64_t seed = 0; seed < count; ++seed) ASSERT_EQ(run_copy_schedule(seed), "") << "schedule " << seed;
}

TEST(AsyncCopies, RandomSchedulesAreFreeOfHazards) { run_schedules(100); }

// 10^5 schedules: QUARRY_LONG=1 quarry_tensor_tests --gtest_filter='AsyncCopiesLong.*'
TEST(AsyncCopiesLong, RandomSchedulesAreFreeOfHazards) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  run_schedules(100'000);
}

TEST(AsyncCopies, WithoutTheRecordSchedulesFindIt) {
  const Omission omission;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) found += run_copy_schedule(seed).empty() ? 0 : 1;
  EXPECT_GE(found, 1u);
}

// A pinned block goes while its copy has not run yet; the next tensor of its size is written by the host.
std::vector<float> copy_from_a_dropped_tensor(SimPlaces& places) {
  void* const handle = places.sim->create_stream();
  const Place side = places.device.on(handle);
  places.sim->hold(handle);
  std::optional<Tensor> source = must(full(places.pinned, {1000}, 1));
  const Tensor copy = must(source->to(side));
  source.reset();
  const Tensor next = must(full(places.pinned, {1000}, 2));
  return values<float>(copy);
}

TEST(AsyncCopies, ADroppedSourceKeepsItsBytes) {
  SimPlaces places;
  EXPECT_EQ(copy_from_a_dropped_tensor(places), std::vector<float>(1000, 1));
  const Omission omission;
  EXPECT_EQ(copy_from_a_dropped_tensor(places), std::vector<float>(1000, 2));
}

// A device block is read by a copy on another stream when it goes; its own stream then writes the next tensor.
std::vector<sim::Hazard> reuse_while_another_stream_reads(SimPlaces& places) {
  void* const handle = places.sim->create_stream();
  places.sim->hold(handle);
  std::optional<Tensor> source = must(full(places.device, {1000}, 1));
  must(places.device.on(handle).wait_for(places.device));
  const Tensor copy = must(source->on(handle).to(places.pinned));
  source.reset();
  const Tensor next = must(full(places.device, {1000}, 2));
  places.sim->unhold(handle);
  (void)places.sim->synchronize_device();
  return places.sim->take_hazards();
}

TEST(AsyncCopies, ABlockIsNotReusedWhileAnotherStreamReadsIt) {
  SimPlaces places;
  EXPECT_EQ(reuse_while_another_stream_reads(places).size(), 0u);
  const Omission omission;
  const std::vector<sim::Hazard> hazards = reuse_while_another_stream_reads(places);
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, sim::HazardKind::conflict);
}

// Pinned copies return before they have run; the host waits when it reads.
TEST(AsyncCopies, PinnedIsAsynchronousPageableIsNot) {
  SimPlaces places;
  const Tensor device = must(full(places.device, {1000}, 3));
  places.sim->hold(nullptr);
  const Tensor pinned = must(device.to(places.pinned));
  EXPECT_FALSE(places.sim->idle());
  EXPECT_EQ(values<float>(pinned), std::vector<float>(1000, 3));
  EXPECT_TRUE(places.sim->idle());
  EXPECT_EQ(static_cast<const float*>(must(device.to(places.host)).data())[999], 3);
  EXPECT_TRUE(places.sim->idle());
}

}  // namespace
}  // namespace quarry::tensor_tests
