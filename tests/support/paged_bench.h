// An allocator of the paged policy over a simulated device, and a program with streams that uses its blocks as a
// correct program does. Every test ends with a look for hazards and for what was not given back.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry {

using namespace literals;

class PagedBench : public testing::Test {
 protected:
  // `options` come after policy:paged and stream_waits:none. The device's calls are listed from here on.
  void open(std::string_view options = "", const sim::DeviceOptions& device = {}) {
    close();
    sim::DeviceOptions recorded = device;
    recorded.record_calls = true;
    device_ = std::make_shared<sim::Device>(recorded);
    open_on(device_, options);
  }
  // The same over a driver that ends at `device_`.
  void open_on(std::shared_ptr<Driver> driver, std::string_view options = "") {
    std::string text = "policy:paged,stream_waits:none";
    if (!options.empty()) text += "," + std::string(options);
    const Result<Options> parsed = parse_options(text, Options{}, Origin::api);
    ASSERT_TRUE(parsed) << parsed.error().message;
    Result<Allocator> opened = Allocator::open(std::move(driver), *parsed);
    ASSERT_TRUE(opened) << opened.error().message;
    gpu_ = std::make_unique<Allocator>(*std::move(opened));
    device_->take_calls();
    seen_ = device_->call_counts();
  }

  void TearDown() override { close(); }
  // Looks at what is left of the allocator and the device.
  void close() {
    if (gpu_ != nullptr) sound();
    gpu_.reset();
    if (device_ == nullptr) return;
    sim::Holdings left = device_->holdings();
    left.events -= std::exchange(own_events_, 0);
    EXPECT_EQ(left, sim::Holdings{}) << "the device still holds something after the space is gone";
    EXPECT_TRUE(device_->hazards().empty()) << "the first of " << device_->hazards().size() << " hazards is of kind "
                                            << static_cast<int>(device_->hazards().front().kind);
  }

  static void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(number); }
  Stream stream(std::uintptr_t number) { return gpu_->stream(handle(number)); }

  Allocation get(Bytes size, Stream on = {}) {
    Result<Allocation> got = gpu_->allocate(size.count, on);
    EXPECT_TRUE(got) << got.error().message;
    return got ? *std::move(got) : Allocation{};
  }
  // A block that work on its own stream writes.
  Allocation written(Bytes size, std::uintptr_t number) {
    Allocation block = get(size, stream(number));
    write(block, number);
    return block;
  }
  std::vector<Allocation> written(std::size_t count, Bytes size, std::uintptr_t number) {
    std::vector<Allocation> blocks;
    while (blocks.size() < count) blocks.push_back(written(size, number));
    return blocks;
  }
  void write(const Allocation& block, std::uintptr_t number) {
    device_->work(handle(number), 1000, {}, {{block.address(), {block.block_size()}}});
  }
  // Another stream reads the block after what its own stream did to it, and the allocator is told.
  void read_on(Allocation& block, std::uintptr_t own, std::uintptr_t reader) {
    make_wait(reader, own);
    device_->work(handle(reader), 1000, {{block.address(), {block.block_size()}}});
    block.used_on(stream(reader));
  }
  // The program makes a stream wait for what is queued on another. The allocator is not told.
  void make_wait(std::uintptr_t waiter, std::uintptr_t on) {
    const EventHandle event = device_->create_event().value;
    ++own_events_;
    EXPECT_TRUE(device_->record(event, handle(on)));
    EXPECT_TRUE(device_->wait_on_stream(handle(waiter), event));
    seen_[static_cast<std::size_t>(sim::Call::create_event)] += 1;
    seen_[static_cast<std::size_t>(sim::Call::record)] += 1;
    seen_[static_cast<std::size_t>(sim::Call::wait_on_stream)] += 1;
  }
  void note_wait(std::uintptr_t waiter, std::uintptr_t on) { gpu_->note_wait(stream(waiter), stream(on)); }
  // Both: the program waits and says so. From here on the two are coupled.
  void wait_and_note(std::uintptr_t waiter, std::uintptr_t on) {
    make_wait(waiter, on);
    note_wait(waiter, on);
  }
  // What is queued on the stream so far runs.
  void complete(std::uintptr_t number) {
    device_->complete(handle(number));
    device_->advance(1'000'000);
  }
  void hold(std::uintptr_t number) { device_->hold(handle(number)); }

  void sound() { EXPECT_EQ(gpu_->validate(), ""); }
  Bytes reserved() { return gpu_->ledger().reserved; }
  // Calls of the allocator since the bench was opened or told to forget.
  std::uint64_t calls(sim::Call call) {
    const auto index = static_cast<std::size_t>(call);
    return device_->call_counts()[index] - seen_[index];
  }
  void forget_calls() {
    seen_ = device_->call_counts();
    device_->take_calls();
  }
  Bytes cached_of(std::uintptr_t number) {
    const StreamId id = stream(number).id();
    for (const StreamRow& row : gpu_->ledger().streams) {
      if (!row.shared && row.stream == id) return row.cached;
    }
    return {};
  }
  Bytes shared() {
    for (const StreamRow& row : gpu_->ledger().streams) {
      if (row.shared) return row.cached;
    }
    return {};
  }

  std::shared_ptr<sim::Device> device_;
  std::unique_ptr<Allocator> gpu_;

 private:
  std::array<std::uint64_t, sim::kCallNames.size()> seen_{};
  std::uint64_t own_events_ = 0;
};

}  // namespace quarry
