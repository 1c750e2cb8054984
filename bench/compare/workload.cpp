#include "bench/compare/workload.h"

#include <algorithm>
#include <random>

namespace quarry::bench {
namespace {

constexpr Bytes kMostLive{16'000ull << 20};
constexpr int kAllocateBelow = 73;  // of 100

// The draws and their order are the published ones; a device without limits refuses nothing.
class RandomProgram {
 public:
  RandomProgram(std::uint32_t count, Bytes largest)
      : count_(count), size_(1, largest.count), index_(0, static_cast<int>(count) - 1) {}

  Workload run() {
    workload_.operations.reserve(std::size_t{2} * count_);
    for (std::uint32_t step = 0; step < 2 * count_; ++step) {
      const std::uint64_t size = size_(random_);
      if (allocates(size)) {
        allocate(size);
      } else {
        free_one();
      }
    }
    return std::move(workload_);
  }

 private:
  bool allocates(std::uint64_t size) {
    if (live_.empty()) return true;
    return percent_(random_) < kAllocateBelow && allocated_ < count_ && live_bytes_ + size <= kMostLive.count;
  }

  void allocate(std::uint64_t size) {
    std::uint32_t slot = workload_.slots;
    if (free_slots_.empty()) {
      ++workload_.slots;
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
    live_.push_back({size, slot, true});
    live_bytes_ += size;
    ++allocated_;
    workload_.operations.push_back({size, slot, false});
  }

  void free_one() {
    Operation& chosen = live_[static_cast<std::size_t>(index_(random_)) % live_.size()];
    workload_.operations.push_back(chosen);
    live_bytes_ -= chosen.bytes;
    free_slots_.push_back(chosen.slot);
    chosen = live_.back();
    live_.pop_back();
  }

  std::uint32_t count_;
  std::default_random_engine random_;
  std::uniform_int_distribution<std::uint64_t> size_;
  std::uniform_int_distribution<int> percent_{0, 99};
  std::uniform_int_distribution<int> index_;
  Workload workload_;
  std::vector<Operation> live_;  // as the frees they will be
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t live_bytes_ = 0;
  std::uint32_t allocated_ = 0;
};

}  // namespace

Workload hot_pair(Bytes size, std::size_t pairs) {
  Workload workload;
  workload.slots = 1;
  for (std::size_t i = 0; i < pairs; ++i) {
    workload.operations.push_back({size.count, 0, false});
    workload.operations.push_back({size.count, 0, true});
  }
  return workload;
}

Workload last_in_first_out(Bytes size, std::uint32_t depth) {
  Workload workload;
  workload.slots = depth;
  for (std::uint32_t i = 0; i < depth; ++i) workload.operations.push_back({size.count, i, false});
  for (std::uint32_t i = depth; i-- > 0;) workload.operations.push_back({size.count, i, true});
  return workload;
}

Workload random_allocations(std::uint32_t count, Bytes largest) { return RandomProgram(count, largest).run(); }

void shorten(Workload& workload, std::size_t most) {
  if (workload.operations.size() <= most) return;
  workload.operations.resize(most);
  close(workload);
}

void close(Workload& workload) {
  std::vector<Operation> live(workload.slots);  // 0 bytes: none
  const auto play = [&](const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) live[operation.slot] = operation.frees ? Operation{} : operation;
  };
  play(workload.before);
  play(workload.operations);
  workload.after.clear();
  for (const Operation& block : live) {
    if (block.bytes != 0) workload.after.push_back({block.bytes, block.slot, true});
  }
}

}  // namespace quarry::bench
