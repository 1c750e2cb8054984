// Places for the tests: pageable memory, a device, pinned memory of that device; and what must be true of all at the
// end. The device is the simulated one (sim_places.cpp), or a GPU in the programs of gpu_check.sh (gpu/tensor.cpp).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/tensor/place.h>
#include <quarry/tensor/tensor.h>

namespace quarry::tensor_tests {

// The value; an error ends the test with its text.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

struct Places {
  explicit Places(Place device_place) : device(std::move(device_place)) {}
  virtual ~Places() = default;

  // A stream of the device; it lives at least as long as this.
  virtual void* create_stream() = 0;
  // The device falls behind with a stream, or catches up, as `random` says.
  virtual void lag(void* stream, std::uint64_t random) = 0;
  virtual void wait_for_all() = 0;
  // The first hazard since the last call; empty if there was none, or where nobody looks for them.
  virtual std::string hazard() = 0;

  // Every block freed, every structure sound, no hazard. Waits for the device first.
  void expect_clean() {
    wait_for_all();
    EXPECT_EQ(hazard(), "");
    for (Place* place : {&host, &device, &pinned}) {
      place->memory().empty_cache();
      const Ledger ledger = place->memory().ledger();
      EXPECT_EQ(ledger.live_blocks, 0u);
      EXPECT_EQ(ledger.allocated.count, 0u);
      EXPECT_EQ(ledger.reserved.count, 0u);
      EXPECT_EQ(place->memory().validate(), "");
    }
  }

  Place host = Place::host(must(open_host()));
  Place device;
  Place pinned = Place::pinned(must(open_pinned(device.memory())));
};

// On a device of its own, as far as an allocator can tell; and the places of EachPlace by name, "host" or another.
std::unique_ptr<Places> make_places();
std::vector<const char*> place_names();

// Runs a test in each of these places.
class EachPlace : public testing::TestWithParam<const char*> {
 protected:
  Place place() const { return std::string(GetParam()) == "host" ? places_.host : places_.device; }
  void TearDown() override { places_.expect_clean(); }

 private:
  std::unique_ptr<Places> owned_ = make_places();

 protected:
  Places& places_ = *owned_;
};

inline std::string name_of(const testing::TestParamInfo<const char*>& place) { return place.param; }

#define QUARRY_IN_EACH_PLACE(Suite) INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(place_names()), name_of)

template <class T>
std::vector<T> values(const Tensor& tensor) {
  return must(tensor.values<T>());
}

}  // namespace quarry::tensor_tests
