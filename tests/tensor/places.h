// Places for the tests: pageable memory, pinned memory of a simulated device, the device; and what must be true of all
// at the end.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>
#include <quarry/tensor/place.h>
#include <quarry/tensor/sim_place.h>
#include <quarry/tensor/tensor.h>

namespace quarry::tensor_tests {

// The value; an error ends the test with its text.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

struct Places {
  std::shared_ptr<sim::Device> sim = std::make_shared<sim::Device>(sim::DeviceOptions{.backing = sim::Backing::memfd});
  Place host = Place::host(must(open_host()));
  Place device = Place::device(must(Allocator::open(sim)), make_sim_executor(sim));
  Place pinned = Place::pinned(must(open_pinned(device.memory())));

  // Every block freed, every structure sound, no hazard. Waits for the device first.
  void expect_clean() {
    (void)sim->synchronize_device();
    for (const sim::Hazard& hazard : sim->take_hazards()) ADD_FAILURE() << describe(hazard);
    for (Place* place : {&host, &device, &pinned}) {
      place->memory().empty_cache();
      const Ledger ledger = place->memory().ledger();
      EXPECT_EQ(ledger.live_blocks, 0u);
      EXPECT_EQ(ledger.allocated.count, 0u);
      EXPECT_EQ(ledger.reserved.count, 0u);
      EXPECT_EQ(place->memory().validate(), "");
    }
  }
};

// Runs a test in pageable memory and on the simulated device.
class EachPlace : public testing::TestWithParam<const char*> {
 protected:
  Place place() const { return std::string(GetParam()) == "host" ? places_.host : places_.device; }
  void TearDown() override { places_.expect_clean(); }

  Places places_;
};

inline std::string name_of(const testing::TestParamInfo<const char*>& place) { return place.param; }

#define QUARRY_IN_EACH_PLACE(Suite) INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values("host", "sim"), name_of)

template <class T>
std::vector<T> values(const Tensor& tensor) {
  return must(tensor.values<T>());
}

}  // namespace quarry::tensor_tests
