// Runs a workload through a subject on a simulated device, iteration by iteration, and counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "tools/replay/compare.h"
#include "tools/replay/compare_subjects.h"
#include "tools/replay/event_lag.h"

namespace quarry::tools {

// One thread; `workload`, `device` and `handles` outlive it.
template <class Subject>
class ComparePlayer {
 public:
  ComparePlayer(const Workload& workload, sim::Device& device, const std::vector<void*>& handles, std::uint32_t lag,
                Subject& subject)
      : workload_(workload), device_(device), handles_(handles), lag_(device, handles, lag), subject_(subject) {}

  // Fills what is counted: iterations, ooms and peaks.
  void run(std::uint32_t repeat, CompareRun& into) {
    for (std::uint32_t i = 0; i < repeat; ++i) {
      subject_.reset_peaks();
      const std::vector<WorkStep>& before = i == 0 ? workload_.start : workload_.rewind;
      into.iterations.push_back(measure(before));
      const SubjectPeaks peaks = subject_.peaks();
      into.iterations.back().peak_reserved = peaks.reserved;
      into.peak_reserved = std::max(into.peak_reserved, peaks.reserved);
      into.peak_requested_active = std::max(into.peak_requested_active, peaks.requested_active);
    }
    into.peak_allocated = peak_allocated_;
    into.ooms = refused_;
  }

 private:
  // Processor time of this thread, so that other programs on the machine do not count.
  static double thread_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }

  CompareIteration measure(const std::vector<WorkStep>& before) {
    const CallCounts calls_before = device_.call_counts();
    const std::uint64_t device_before = device_.clock_ns() - lag_.advanced_ns();
    own_calls_ = {};
    own_ns_ = 0;
    const double begin = thread_ns();
    play(before);
    peak_allocated_ = std::max(peak_allocated_, allocated_);
    in_window_ = true;
    play(workload_.window);
    in_window_ = false;
    const double took = thread_ns() - begin;
    CompareIteration iteration;
    iteration.driver_calls = device_.call_counts();
    for (std::size_t i = 0; i < calls_before.size(); ++i) {
      iteration.driver_calls[i] -= calls_before[i] + own_calls_[i];
    }
    const std::uint64_t device_ns = device_.clock_ns() - lag_.advanced_ns() - device_before - own_ns_;
    iteration.driver_us = static_cast<double>(device_ns) / 1e3;
    const std::size_t steps = before.size() + workload_.window.size();
    iteration.ns_per_op = took / static_cast<double>(std::max<std::size_t>(steps, 1));
    return iteration;
  }

  void play(const std::vector<WorkStep>& steps) {
    for (const WorkStep& step : steps) {
      switch (step.kind) {
        case WorkKind::allocate:
          allocate(step);
          break;
        case WorkKind::free:
          allocated_ -= subject_.block_size(step.slot);
          subject_.free(step.slot);
          break;
        case WorkKind::request_free:
          allocated_ -= subject_.block_size(step.slot);
          break;
        case WorkKind::complete_free:
          subject_.free(step.slot);
          break;
        case WorkKind::used_on:
          subject_.used_on(step.slot, step.stream);
          break;
        case WorkKind::note_wait:
          wait(step.stream, static_cast<StreamId>(step.slot));
          break;
      }
    }
  }

  void allocate(const WorkStep& step) {
    const Bytes size = subject_.allocate(step);
    if (size == Bytes{} && step.size > Bytes{}) [[unlikely]]
      ++refused_;
    allocated_ += size;
    if (in_window_) peak_allocated_ = std::max(peak_allocated_, allocated_);
    lag_.after_request();
  }

  // The program's own wait; its driver calls are not the policy's.
  void wait(StreamId waiter, StreamId on) {
    const CallCounts calls = device_.call_counts();
    const std::uint64_t clock = device_.clock_ns();
    if (const DriverResult<EventHandle> event = device_.create_event(); event) {
      static_cast<void>(device_.record(event.value, handles_[static_cast<std::size_t>(on)]));
      static_cast<void>(device_.wait_on_stream(handles_[static_cast<std::size_t>(waiter)], event.value));
      static_cast<void>(device_.destroy_event(event.value));
    }
    own_ns_ += device_.clock_ns() - clock;
    const CallCounts after = device_.call_counts();
    for (std::size_t i = 0; i < calls.size(); ++i) own_calls_[i] += after[i] - calls[i];
    subject_.note_wait(waiter, on);
  }

  const Workload& workload_;
  sim::Device& device_;
  const std::vector<void*>& handles_;
  EventLag lag_;
  Subject& subject_;
  Bytes allocated_;  // as the caller frees
  Bytes peak_allocated_;
  std::uint64_t refused_ = 0;
  CallCounts own_calls_{};
  std::uint64_t own_ns_ = 0;
  bool in_window_ = false;
};

}  // namespace quarry::tools
