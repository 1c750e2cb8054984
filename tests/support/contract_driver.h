// What the contract suites share: the list of drivers and the fixture.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>

#include <quarry/allocator/driver/driver.h>

namespace quarry::contract {

struct ContractDriver {
  std::string name;
  std::function<std::shared_ptr<Driver>()> make;  // a fresh driver with room for at least 256 MiB
  // A stream beside the default one, and its end. Without them only the default stream is tested.
  std::function<void*(Driver&)> make_stream = {};
  std::function<void(Driver&, void*)> destroy_stream = {};
};

inline void PrintTo(const ContractDriver& driver, std::ostream* out) { *out << driver.name; }
inline std::string name_of(const ::testing::TestParamInfo<ContractDriver>& info) { return info.param.name; }

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class ContractTest : public ::testing::TestWithParam<ContractDriver> {
 protected:
  void SetUp() override {
    driver_ = GetParam().make();
    ASSERT_NE(driver_, nullptr);
  }

  Memory& memory() { return driver_->memory(); }
  bool readable() { return memory().capabilities().readable; }

  Address allocate(Bytes size) {
    const DriverResult<Address> got = memory().allocate_segment(size);
    EXPECT_EQ(got.status.code, DriverCode::ok) << size.count << " bytes";
    return got.value;
  }

  static void fill(Address at, Bytes size, int value) {
    std::memset(reinterpret_cast<void*>(at.value), value, size.count);
  }
  static bool holds(Address at, Bytes size, int value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(at.value);
    return std::all_of(bytes, bytes + size.count, [&](unsigned char byte) { return byte == value; });
  }

  std::shared_ptr<Driver> driver_;
};

}  // namespace quarry::contract
