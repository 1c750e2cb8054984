// Threads with a stream each allocate, fill, check and free, and lend blocks to each other's streams. Every block holds
// a number of its own until the device has read it back: bytes given out too early show as a wrong number.
//
// usage: gpu_stress [STEPS] [STREAMS] [DELAY_MIB] [SEED]     steps per stream; DELAY_MIB of memset keep a stream behind
#include <cuda.h>

#include <array>
#include <atomic>
#include <cinttypes>
#include <random>
#include <thread>
#include <vector>

#include <quarry/allocator/allocator.h>

#include "gpu/raw_api.h"

namespace quarry::gpu {
namespace {

constexpr std::size_t kBatch = 64;   // blocks read back before the host looks
constexpr std::size_t kProbe = 256;  // words read back from each end of a block
constexpr std::size_t kMostLive = 48;
constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr Bytes kHost{kBatch * 2 * kProbe * kWord};

struct Plan {
  std::uint64_t steps = 5000;
  std::size_t streams = 4;
  std::uint64_t delay_mib = 64;
  std::uint64_t seed = 1;
};

struct Live {
  Allocation block;
  std::uint32_t tag = 0;
};

std::atomic<std::uint32_t> next_tag{1};
std::atomic<std::uint64_t> wrong{0};
std::atomic<std::uint64_t> checked{0};

class Worker {
 public:
  Worker(Allocator gpu, const Plan& plan, std::vector<CUstream> streams, std::size_t self, std::uint32_t* host)
      : gpu_(std::move(gpu)),
        plan_(plan),
        streams_(std::move(streams)),
        self_(self),
        random_(plan.seed * 1000 + self),
        host_(host) {
    must(api_.cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (plan.delay_mib > 0) delay_ = gpu_.allocate_or_throw(plan.delay_mib << 20, own());
  }

  void run() {
    for (std::uint64_t step = 0; step < plan_.steps; ++step) {
      if (live_.size() < kMostLive && pick(100) < 55) {
        make();
      } else if (!live_.empty()) {
        drop(pick(live_.size()));
      }
      if (pick(16) == 0) stay_behind();
    }
    while (!live_.empty()) drop(live_.size() - 1);
    look();
    delay_.reset();
    must(api_.cuEventDestroy(event_), "cuEventDestroy");
  }

 private:
  struct Expected {
    std::uint32_t tag = 0;
    std::size_t words = 0;
  };

  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  CUstream stream() const { return streams_[self_]; }
  Stream own() { return gpu_.stream(stream()); }

  std::size_t random_size() {
    const std::size_t most = std::size_t{512} << pick(15);  // up to 8 MiB, small ones as often as large ones
    return kWord * (1 + pick(most / kWord));
  }

  void make() {
    Result<Allocation> got = gpu_.allocate(random_size(), own());
    if (!got) return;  // a small device: go on with fewer
    Live made{*std::move(got), next_tag.fetch_add(1)};
    must(api_.cuMemsetD32Async(at(made), made.tag, made.block.size() / kWord, stream()), "cuMemsetD32Async");
    live_.push_back(std::move(made));
  }

  // Reads the block back, on its own stream or on another one that waits for it, and frees it at once.
  void drop(std::size_t index) {
    std::swap(live_[index], live_.back());
    Live last = std::move(live_.back());
    live_.pop_back();
    const std::size_t reader = pick(4) == 0 ? pick(streams_.size()) : self_;
    if (reader != self_) {
      must(api_.cuEventRecord(event_, stream()), "cuEventRecord");
      must(api_.cuStreamWaitEvent(streams_[reader], event_, 0), "cuStreamWaitEvent");
    }
    read_back(last, streams_[reader]);
    if (reader != self_) last.block.used_on(gpu_.stream(streams_[reader]));
    last.block.reset();
    if (expected_.size() == kBatch) look();
  }

  void read_back(const Live& live, CUstream reader) {
    const std::size_t words = std::min(kProbe, live.block.size() / kWord);
    std::uint32_t* const slot = host_ + expected_.size() * 2 * kProbe;
    const CUdeviceptr tail = at(live) + live.block.size() - words * kWord;
    must(api_.cuMemcpyDtoHAsync(slot, at(live), words * kWord, reader), "cuMemcpyDtoHAsync");
    must(api_.cuMemcpyDtoHAsync(slot + kProbe, tail, words * kWord, reader), "cuMemcpyDtoHAsync");
    expected_.push_back({live.tag, words});
  }

  void look() {
    for (const CUstream each : streams_) must(api_.cuStreamSynchronize(each), "cuStreamSynchronize");
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      for (std::size_t word = 0; word < expected_[i].words; ++word) {
        for (const std::size_t half : {std::size_t{0}, kProbe}) {
          const std::uint32_t found = host_[i * 2 * kProbe + half + word];
          if (found != expected_[i].tag && wrong.fetch_add(1) == 0) {
            std::printf("stream %zu: a block of number %" PRIu32 " holds %" PRIu32 "\n", self_, expected_[i].tag,
                        found);
          }
        }
      }
      ++checked;
    }
    expected_.clear();
  }

  // Keeps the stream busy, so that frees are far ahead of the device.
  void stay_behind() {
    if (!delay_) return;
    const auto target = reinterpret_cast<CUdeviceptr>(delay_.data());
    must(api_.cuMemsetD32Async(target, 0, delay_.size() / kWord, stream()), "cuMemsetD32Async");
  }

  static CUdeviceptr at(const Live& live) { return live.block.address().value; }

  const RawApi& api_ = raw_api();
  Allocator gpu_;
  const Plan& plan_;
  std::vector<CUstream> streams_;
  std::size_t self_;
  std::mt19937_64 random_;
  CUevent event_ = nullptr;
  Allocation delay_;
  std::vector<Live> live_;
  std::vector<Expected> expected_;
  std::uint32_t* host_;  // kHost bytes
};

int run(const Plan& plan) {
  const std::shared_ptr<Driver> driver = open_gpu();
  const Result<Allocator> opened = Allocator::open(driver);
  if (!opened) stop(1, opened.error().message);
  Allocator gpu = *opened;
  std::vector<CUstream> streams(plan.streams);
  for (CUstream& stream : streams) {
    must(raw_api().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    gpu.stream(stream);
  }
  std::vector<std::thread> threads;
  // Page-locked, because a copy to other memory waits for its stream, and the frees would not run ahead of the device.
  const DriverResult<Address> host = driver->memory().allocate_host(kHost * plan.streams);
  if (!host) stop(1, "no page-locked memory");
  for (std::size_t i = 0; i < streams.size(); ++i) {
    auto* const own = reinterpret_cast<std::uint32_t*>((host.value + kHost * i).value);
    threads.emplace_back([&, i, own] { Worker(gpu, plan, streams, i, own).run(); });
  }
  for (std::thread& thread : threads) thread.join();
  gpu.empty_cache();
  const bool unpinned = static_cast<bool>(driver->memory().release_host(host.value, kHost * plan.streams));
  const std::string broken = gpu.validate();
  std::printf("stress: %zu streams, %" PRIu64 " steps each, seed %" PRIu64 ": %" PRIu64 " blocks checked, %" PRIu64
              " wrong words%s%s\n",
              plan.streams, plan.steps, plan.seed, checked.load(), wrong.load(), broken.empty() ? "" : "; ",
              broken.c_str());
  for (const CUstream stream : streams) {
    gpu.retire(gpu.stream(stream));
    must(raw_api().cuStreamDestroy(stream), "cuStreamDestroy");
  }
  return wrong == 0 && broken.empty() && unpinned ? 0 : 1;
}

}  // namespace
}  // namespace quarry::gpu

int main(int count, char** arguments) {
  quarry::gpu::Plan plan;
  if (count > 1) plan.steps = std::stoull(arguments[1]);
  if (count > 2) plan.streams = std::stoul(arguments[2]);
  if (count > 3) plan.delay_mib = std::stoull(arguments[3]);
  if (count > 4) plan.seed = std::stoull(arguments[4]);
  return quarry::gpu::run(plan);
}
