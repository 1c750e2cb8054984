#include "support/stream_programs.h"

#include <map>
#include <memory>
#include <random>
#include <utility>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::programs {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;

// Writes a program down, with short words for what a job does.
class Script {
 public:
  Script(std::string name, std::uint32_t streams, std::uint64_t seed) : engine_(seed) {
    program_.name = std::move(name);
    program_.streams = streams;
  }

  std::uint32_t get(std::uint64_t bytes, std::uint32_t stream) {
    program_.steps.push_back({Step::Act::allocate, ++blocks_, stream, 0, bytes});
    return blocks_;
  }
  void use(std::uint32_t block, std::uint32_t stream) {
    program_.steps.push_back({Step::Act::use, block, stream, 0, 0});
  }
  void drop(std::uint32_t block) { program_.steps.push_back({Step::Act::free, block, 0, 0, 0}); }
  void wait(std::uint32_t stream, std::uint32_t on) { program_.steps.push_back({Step::Act::wait, 0, stream, on, 0}); }
  // A size of about that many MiB, at 512 B.
  std::uint64_t about(std::uint64_t mib) {
    const std::uint64_t low = mib * kMiB * 3 / 4;
    return (low + engine_() % (mib * kMiB / 2)) / 512 * 512 + 512;
  }
  // Scratch that comes and goes while something is computed.
  void scratch(std::uint64_t mib, int times, std::uint32_t stream = 0) {
    for (int i = 0; i < times; ++i) drop(get(about(mib), stream));
  }
  Program take() { return std::move(program_); }

 private:
  std::mt19937_64 engine_;
  Program program_;
  std::uint32_t blocks_ = 0;
};

constexpr int kSteps = 3;
constexpr int kLayers = 16;

std::vector<std::uint64_t> layer_sizes(Script& script, std::uint64_t mib) {
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < kLayers; ++i) sizes.push_back(script.about(i % 5 == 0 ? 3 * mib : mib));
  return sizes;
}

}  // namespace

Program fsdp_like(std::uint64_t seed) {
  constexpr std::uint32_t kCompute = 0, kComm = 1;
  Script s("fsdp-like", 2, seed);
  const auto params = layer_sizes(s, 40);
  const auto activations = layer_sizes(s, 24);
  std::vector<std::uint32_t> shards;
  for (const std::uint64_t size : params) shards.push_back(s.get(size / 4 / 512 * 512, kCompute));
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::uint32_t> kept;
    std::uint32_t next = s.get(params[0], kComm);
    for (int layer = 0; layer < kLayers; ++layer) {
      s.wait(kCompute, kComm);
      const std::uint32_t full = next;
      if (layer + 1 < kLayers) next = s.get(params[layer + 1], kComm);
      kept.push_back(s.get(activations[layer], kCompute));
      s.scratch(20, 3);
      s.use(full, kCompute);
      s.drop(full);
    }
    for (int layer = kLayers; layer-- > 0;) {
      const std::uint32_t full = s.get(params[layer], kComm);
      s.wait(kCompute, kComm);
      const std::uint32_t gradient = s.get(params[layer], kCompute);
      s.scratch(20, 3);
      s.drop(kept[layer]);
      s.use(full, kCompute);
      s.drop(full);
      s.wait(kComm, kCompute);
      const std::uint32_t reduced = s.get(params[layer] / 4 / 512 * 512, kComm);
      s.use(gradient, kComm);
      s.drop(gradient);
      s.drop(reduced);
    }
    s.wait(kCompute, kComm);
  }
  for (const std::uint32_t shard : shards) s.drop(shard);
  return s.take();
}

Program ddp_like(std::uint64_t seed) {
  constexpr std::uint32_t kCompute = 0, kComm = 1;
  Script s("ddp-like", 2, seed);
  const auto params = layer_sizes(s, 40);
  const auto activations = layer_sizes(s, 30);
  std::vector<std::uint32_t> weights;
  for (const std::uint64_t size : params) weights.push_back(s.get(size, kCompute));
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::uint32_t> kept, gradients, buckets;
    for (int layer = 0; layer < kLayers; ++layer) {
      kept.push_back(s.get(activations[layer], kCompute));
      s.scratch(16, 3);
    }
    for (int layer = kLayers; layer-- > 0;) {
      gradients.push_back(s.get(params[layer], kCompute));
      s.scratch(16, 3);
      s.drop(kept[layer]);
      if (layer % 4 != 0) continue;
      s.wait(kComm, kCompute);
      buckets.push_back(s.get(s.about(64), kComm));
      for (std::size_t i = gradients.size() - 4; i < gradients.size(); ++i) s.use(gradients[i], kComm);
      if (buckets.size() > 1) s.drop(buckets[buckets.size() - 2]);
    }
    s.drop(buckets.back());
    s.wait(kCompute, kComm);
    s.scratch(48, 4);
    for (const std::uint32_t gradient : gradients) s.drop(gradient);
  }
  for (const std::uint32_t weight : weights) s.drop(weight);
  return s.take();
}

Program pipeline_like(std::uint64_t seed) {
  constexpr std::uint32_t kCompute = 0, kReceive = 1, kSend = 2;
  constexpr int kMicroBatches = 8;
  Script s("pipeline-like", 3, seed);
  std::vector<std::uint32_t> weights;
  for (int i = 0; i < 4; ++i) weights.push_back(s.get(s.about(100), kCompute));
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::uint32_t> kept;
    for (int batch = 0; batch < kMicroBatches; ++batch) {
      const std::uint32_t input = s.get(s.about(32), kReceive);
      s.wait(kCompute, kReceive);
      kept.push_back(s.get(s.about(60), kCompute));
      s.scratch(25, 3);
      const std::uint32_t output = s.get(s.about(32), kCompute);
      s.use(input, kCompute);
      s.drop(input);
      s.wait(kSend, kCompute);
      s.use(output, kSend);
      s.drop(output);
    }
    for (int batch = 0; batch < kMicroBatches; ++batch) {
      const std::uint32_t incoming = s.get(s.about(32), kReceive);
      s.wait(kCompute, kReceive);
      const std::uint32_t outgoing = s.get(s.about(32), kCompute);
      s.scratch(25, 3);
      s.drop(kept[static_cast<std::size_t>(batch)]);
      s.use(incoming, kCompute);
      s.drop(incoming);
      s.wait(kSend, kCompute);
      s.use(outgoing, kSend);
      s.drop(outgoing);
    }
    s.wait(kCompute, kSend);
    s.wait(kReceive, kCompute);
  }
  for (const std::uint32_t weight : weights) s.drop(weight);
  return s.take();
}

Program offload_like(std::uint64_t seed) {
  constexpr std::uint32_t kCompute = 0, kIn = 1, kOut = 2;
  Script s("offload-like", 3, seed);
  const auto params = layer_sizes(s, 50);
  const auto activations = layer_sizes(s, 40);
  for (int step = 0; step < kSteps; ++step) {
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::uint32_t weights = s.get(params[layer], kIn);
      s.wait(kCompute, kIn);
      const std::uint32_t output = s.get(activations[layer], kCompute);
      s.scratch(30, 2);
      s.use(weights, kCompute);
      s.drop(weights);
      s.wait(kOut, kCompute);
      s.use(output, kOut);
      s.drop(output);
      s.wait(kIn, kCompute);
    }
    for (int layer = kLayers; layer-- > 0;) {
      const std::uint32_t weights = s.get(params[layer], kIn);
      const std::uint32_t input = s.get(activations[layer], kIn);
      s.wait(kCompute, kIn);
      const std::uint32_t gradient = s.get(params[layer], kCompute);
      s.scratch(30, 2);
      for (const std::uint32_t block : {weights, input}) {
        s.use(block, kCompute);
        s.drop(block);
      }
      s.wait(kOut, kCompute);
      s.use(gradient, kOut);
      s.drop(gradient);
      s.wait(kCompute, kOut);
      s.wait(kIn, kCompute);
    }
  }
  return s.take();
}

Program unrelated(std::uint64_t seed) {
  Script s("unrelated", 2, seed);
  for (int step = 0; step < 60; ++step) {
    const std::uint32_t stream = static_cast<std::uint32_t>(step) % 2;
    std::vector<std::uint32_t> blocks;
    for (int i = 0; i < 6; ++i) blocks.push_back(s.get(s.about(40), stream));
    for (const std::uint32_t block : blocks) s.drop(block);
  }
  return s.take();
}

namespace {

// A run: the device's clock goes one slice on with each request, and every stream is always `lag` slices behind.
class Run {
 public:
  Run(const Program& program, const Options& options, std::uint64_t lag, bool tell)
      : program_(program), tell_(tell), device_(std::make_shared<sim::Device>(device_options())) {
    Result<Allocator> opened = Allocator::open(device_, options);
    if (!opened) {
      measured_.broken = opened.error().message;
      return;
    }
    gpu_ = std::make_unique<Allocator>(*opened);
    for (std::uint32_t i = 0; i < program.streams; ++i) {
      handles_.push_back(i == 0 ? nullptr : device_->create_stream());
      streams_.push_back(gpu_->stream(handles_.back()));
      if (lag != 0) device_->work(handles_.back(), lag * kSlice);
    }
    lags_ = lag != 0;
  }

  Measured play() {
    for (const Step& step : program_.steps) {
      if (!measured_.broken.empty()) return measured_;
      apply(step);
    }
    if (gpu_ == nullptr) return measured_;
    const Counters counters = gpu_->counters();
    measured_.peak_reserved = static_cast<std::uint64_t>(counters[Metric::reserved_bytes].all.peak);
    measured_.peak_active = static_cast<std::uint64_t>(counters[Metric::requested_bytes].all.peak);
    measured_.waits = counters[Tally::num_stream_waits];
    measured_.wait_calls = device_->call_counts()[static_cast<std::size_t>(sim::Call::wait_on_stream)] - program_waits_;
    if (const std::string broken = gpu_->validate(); !broken.empty()) measured_.broken = broken;
    if (!device_->hazards().empty()) measured_.broken = "a hazard: " + sim::describe(device_->hazards().front());
    return measured_;
  }

 private:
  static constexpr std::uint64_t kSlice = 1000;

  static sim::DeviceOptions device_options() {
    sim::DeviceOptions options;
    options.profile = "free";
    return options;
  }

  void apply(const Step& step) {
    switch (step.act) {
      case Step::Act::allocate:
        return allocate(step);
      case Step::Act::use:
        touch(step.block, step.stream, false);
        return blocks_[step.block].used_on(streams_[step.stream]);
      case Step::Act::free:
        blocks_.erase(step.block);
        return;
      case Step::Act::wait:
        return wait(step.stream, step.other);
    }
  }

  void allocate(const Step& step) {
    if (lags_) {
      for (void* handle : handles_) device_->work(handle, kSlice);
      device_->advance(kSlice);
    }
    Result<Allocation> block = gpu_->allocate(step.bytes, streams_[step.stream]);
    if (!block) {
      measured_.broken = "refused: " + block.error().message;
      return;
    }
    blocks_[step.block] = *std::move(block);
    touch(step.block, step.stream, true);
  }

  void touch(std::uint32_t block, std::uint32_t stream, bool write) {
    const std::vector<sim::ByteRange> range = {{blocks_[block].address(), Bytes{blocks_[block].size()}}};
    const std::vector<sim::ByteRange> none;
    device_->work(handles_[stream], 0, write ? none : range, write ? range : none);
  }

  void wait(std::uint32_t stream, std::uint32_t on) {
    const DriverResult<EventHandle> event = device_->create_event();
    (void)device_->record(event.value, handles_[on]);
    (void)device_->wait_on_stream(handles_[stream], event.value);
    (void)device_->destroy_event(event.value);
    ++program_waits_;
    if (tell_) gpu_->note_wait(streams_[stream], streams_[on]);
  }

  const Program& program_;
  bool tell_;
  bool lags_ = false;
  std::shared_ptr<sim::Device> device_;
  std::unique_ptr<Allocator> gpu_;
  std::vector<void*> handles_;
  std::vector<Stream> streams_;
  std::map<std::uint32_t, Allocation> blocks_;
  std::uint64_t program_waits_ = 0;
  Measured measured_;
};

}  // namespace

Measured run(const Program& program, const Options& options, std::uint64_t lag, bool tell) {
  return Run(program, options, lag, tell).play();
}

}  // namespace quarry::programs
