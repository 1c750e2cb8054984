// An allocator with expandable segments over a simulated device, and what the tests ask of the two.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

#include "support/pytorch.h"

namespace quarry {

using namespace literals;

class ExpandableBench : public testing::Test {
 protected:
  static constexpr Bytes kPage = 20_MiB;  // of the large class

  // The device starts empty, its calls are listed.
  void open(Bytes capacity, std::string_view options = "expandable_segments:True",
            sim::AddressScript* script = nullptr) {
    gpu_.reset();
    device_ = std::make_shared<sim::Device>(sim::DeviceOptions{.capacity = capacity, .record_calls = true});
    device_->set_script(script);
    const Result<Options> parsed = parse_options(options, pytorch_options(), Origin::api);
    ASSERT_TRUE(parsed) << parsed.error().message;
    Result<Allocator> opened = Allocator::open(device_, *parsed);
    ASSERT_TRUE(opened) << opened.error().message;
    gpu_ = std::make_unique<Allocator>(*std::move(opened));
    device_->take_calls();
  }

  void TearDown() override {
    if (gpu_ != nullptr) sound();
    gpu_.reset();
    if (device_ == nullptr) return;
    sim::Holdings left = device_->holdings();
    left.host = left.registered = 0;
    EXPECT_EQ(left, sim::Holdings{}) << "the device still holds something after the space is gone";
    EXPECT_TRUE(device_->hazards().empty());
  }

  Allocation get(Bytes size, Stream stream = {}) {
    Result<Allocation> got = gpu_->allocate(size.count, stream);
    EXPECT_TRUE(got) << got.error().message;
    return got ? *std::move(got) : Allocation{};
  }
  Stream stream(std::uintptr_t handle) { return gpu_->stream(reinterpret_cast<void*>(handle)); }
  void configure(std::string_view text) { EXPECT_TRUE(gpu_->configure(text)); }

  void sound() { EXPECT_EQ(gpu_->validate(), ""); }
  Bytes reserved() { return gpu_->ledger().reserved; }
  std::uint64_t pages() { return device_->holdings().pages; }
  std::uint64_t reservations() { return device_->holdings().reservations; }
  std::uint64_t calls(sim::Call call) { return device_->call_counts()[static_cast<std::size_t>(call)]; }
  // The calls since the last look, by name; questions about memory left out.
  std::vector<std::string_view> call_names() {
    std::vector<std::string_view> names;
    for (const sim::CallRecord& record : device_->take_calls()) {
      if (record.call != sim::Call::info) names.push_back(sim::kCallNames[static_cast<std::size_t>(record.call)]);
    }
    return names;
  }

  std::shared_ptr<sim::Device> device_;
  std::unique_ptr<Allocator> gpu_;
};

}  // namespace quarry
