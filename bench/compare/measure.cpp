#include "bench/compare/measure.h"

#include <time.h>

#include <algorithm>

#include <fmt/format.h>

namespace quarry::bench {
namespace {

// The time this thread ran, so that what else the machine does counts less. None of the subjects ever waits.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// One subject on its way through the rounds.
class Runner {
 public:
  Runner(std::string_view name, std::unique_ptr<Subject> subject, const Workload& workload, std::size_t times)
      : name_(name), subject_(std::move(subject)), workload_(workload), times_(times), slots_(workload.slots) {}

  std::uint64_t measured_operations() const { return workload_.operations.size() * times_; }

  // False if a request was refused.
  bool round() {
    asked_ += workload_.before.size() + measured_operations() + workload_.after.size();
    if (!subject_->run(workload_.before, slots_)) return false;
    const double begin = cpu_ns();
    const bool served = subject_->run_measured(workload_.operations, slots_, times_);
    ns_.push_back((cpu_ns() - begin) / static_cast<double>(measured_operations()));
    return served && subject_->run(workload_.after, slots_);
  }

  bool warm_up() {
    asked_ += workload_.before.size() + workload_.operations.size() + workload_.after.size();
    return subject_->run(workload_.before, slots_) && subject_->run(workload_.operations, slots_) &&
           subject_->run(workload_.after, slots_);
  }

  Error refused() const {
    return {ErrorCode::out_of_memory, fmt::format("{} refused a request on a device without limits", name_)};
  }

  // An empty message where the books are right.
  std::string wrong_books() const {
    const Books books = subject_->books();
    if (books.operations != asked_) return fmt::format("{}: {} of {} operations", name_, books.operations, asked_);
    return books.live == 0 ? "" : fmt::format("{}: {} blocks are left", name_, books.live);
  }

  Figure figure() const {
    std::vector<double> warm(ns_.begin() + 1, ns_.end());
    std::ranges::sort(warm);
    return {name_,
            ns_.front(),
            warm.front(),
            warm[warm.size() / 2],
            warm.back(),
            subject_->books(),
            subject_->driver_calls()};
  }

 private:
  std::string_view name_;
  std::unique_ptr<Subject> subject_;
  const Workload& workload_;
  std::size_t times_;
  std::vector<void*> slots_;
  std::uint64_t asked_ = 0;
  std::vector<double> ns_;  // of one operation, by round
};

std::size_t times_in_a_round(const Workload& workload, const Effort& effort) {
  const std::size_t length = workload.operations.size();
  return workload.closed() ? std::max<std::size_t>(1, effort.operations / length) : 1;
}

}  // namespace

Result<std::vector<Figure>> measure(Workload workload, const std::vector<std::string_view>& subjects,
                                    const Effort& effort) {
  shorten(workload, effort.longest);
  if (workload.operations.empty()) return Error{ErrorCode::invalid, "there is nothing to run"};
  std::vector<Runner> runners;
  for (const std::string_view name : subjects) {
    if (std::unique_ptr<Subject> subject = open_subject(name)) {
      runners.emplace_back(name, std::move(subject), workload, times_in_a_round(workload, effort));
    }
  }
  for (std::size_t round = 0; round <= effort.rounds; ++round) {
    for (Runner& runner : runners) {
      if (!runner.round()) return runner.refused();
    }
  }
  std::vector<Figure> figures;
  for (const Runner& runner : runners) {
    if (std::string wrong = runner.wrong_books(); !wrong.empty()) return Error{ErrorCode::invalid, std::move(wrong)};
    figures.push_back(runner.figure());
  }
  return figures;
}

Result<std::uint64_t> run_once(Workload workload, std::string_view subject, const Effort& effort) {
  shorten(workload, effort.longest);
  std::unique_ptr<Subject> opened = open_subject(subject);
  if (!opened) return Error{ErrorCode::invalid, fmt::format("{}: this build has no such subject", subject)};
  Runner runner(subject, std::move(opened), workload, times_in_a_round(workload, effort));
  if (!runner.warm_up() || !runner.round()) return runner.refused();
  return runner.measured_operations();
}

}  // namespace quarry::bench
