// An allocator under measurement. The loop is the same code for all of them, compiled for each.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/compare/workload.h"

namespace quarry::bench {

// What an allocator says of itself.
struct Books {
  std::uint64_t operations = 0;  // allocations and frees since it was opened
  std::uint64_t live = 0;        // blocks
};

using CallCount = std::pair<std::string_view, std::uint64_t>;

// One thread.
class Subject {
 public:
  virtual ~Subject() = default;
  // Runs `operations` once, or `times` times; false if a request was refused. `slots` holds the pointers in between.
  virtual bool run(std::span<const Operation> operations, std::span<void*> slots) = 0;
  virtual bool run_measured(std::span<const Operation> operations, std::span<void*> slots, std::size_t times) = 0;
  virtual Books books() const = 0;
  // Calls that reached the driver's stand-in; empty where there is none.
  virtual std::vector<CallCount> driver_calls() const { return {}; }
};

// `enter` is called before every run. A refused request is null.
template <class T>
concept Peer = requires(T& peer, const T& done, std::size_t bytes, void* pointer) {
  peer.enter();
  { peer.allocate(bytes) } -> std::same_as<void*>;
  peer.deallocate(pointer, bytes);
  { done.books() } -> std::same_as<Books>;
  { done.driver_calls() } -> std::same_as<std::vector<CallCount>>;
};

template <Peer T>
class SubjectOf final : public Subject {
 public:
  template <class... Arguments>
  explicit SubjectOf(Arguments&&... arguments) : peer_(std::forward<Arguments>(arguments)...) {}

  bool run(std::span<const Operation> operations, std::span<void*> slots) override {
    peer_.enter();
    return pass(operations, slots);
  }
  bool run_measured(std::span<const Operation> operations, std::span<void*> slots, std::size_t times) override {
    peer_.enter();
    return measured_loop(operations, slots, times);
  }
  Books books() const override { return peer_.books(); }
  std::vector<CallCount> driver_calls() const override { return peer_.driver_calls(); }

 private:
  [[gnu::always_inline]] bool pass(std::span<const Operation> operations, std::span<void*> slots) {
    for (const Operation& operation : operations) {
      void*& slot = slots[operation.slot];
      if (operation.frees) {
        peer_.deallocate(slot, operation.bytes);
      } else {
        slot = peer_.allocate(operation.bytes);
        if (slot == nullptr) return false;
      }
    }
    return true;
  }

  // Not inlined, and its name is known to bench/instructions.sh: callgrind counts inside of it.
  [[gnu::noinline]] bool measured_loop(std::span<const Operation> operations, std::span<void*> slots,
                                       std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      if (!pass(operations, slots)) return false;
    }
    return true;
  }

  T peer_;
};

// quarry's two placements of the paged policy: what every row compares a peer with, and what stands beside it.
inline constexpr std::string_view kFast = "fast";
inline constexpr std::string_view kTight = "tight";
// quarry with the other policy, as a peer of itself.
inline constexpr std::string_view kPytorch = "pytorch";

// All subjects, in the order in which a round runs them.
std::vector<std::string_view> subject_names();

// Each has a simulated device of its own. Null for an unknown name, and for CUB in a build without the CUDA toolkit.
std::unique_ptr<Subject> open_subject(std::string_view name);

}  // namespace quarry::bench
