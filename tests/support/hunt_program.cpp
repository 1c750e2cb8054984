#include "support/hunt_program.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace quarry::hunt {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;

constexpr std::array kSettings = {"expandable_segments:False", "expandable_segments:True",
                                  "expandable_segments:False,close_holes:True", "max_split_size_mb:24",
                                  "expandable_segments:True,close_holes:True"};

// The scheduler: picks a logical thread and lets it do one thing.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed) {}

  Program program(std::size_t steps) {
    Program program{pick({1024 * kMiB, 24 * kMiB, 64 * kMiB, 160 * kMiB}), below(kSettings.size()), {}};
    while (program.operations.size() < steps) {
      Step step = next();
      step.inside = !program.operations.empty() && may_be_inside(step) && chance(30);
      if (!step.inside) outer_ = step;
      program.operations.push_back(step);
    }
    return program;
  }

 private:
  // No std:: distribution: the same seed gives the same program on every machine.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  std::uint64_t pick(std::initializer_list<std::uint64_t> of) { return of.begin()[below(of.size())]; }

  // Another thread's, and not one that makes the outer call wrong: a stream is not dropped under a call that names it.
  bool may_be_inside(const Step& step) const {
    return step.thread != outer_.thread && step.act != Act::drop && step.act != Act::empty_cache;
  }

  Step next() {
    Step step;
    step.thread = static_cast<std::uint32_t>(below(kThreads));
    step.stream = static_cast<std::uint32_t>(below(kStreams));
    std::vector<std::uint32_t>& owned = owned_[step.thread];
    const std::uint64_t dice = below(100);
    if (owned.empty() || dice < 25) return allocate(step);
    if (dice >= 85) return rare(step);
    const std::size_t chosen = below(owned.size());
    step.block = owned[chosen];
    if (dice < 55) {
      step.act = chance(60) ? Act::write : Act::read;
      step.amount = pick({1'000, 100'000, 1'000'000});
      return step;
    }
    owned.erase(owned.begin() + static_cast<std::ptrdiff_t>(chosen));
    if (dice < 65) {  // handed to another thread, which is the next to use it
      step.thread = static_cast<std::uint32_t>(below(kThreads));
      owned_[step.thread].push_back(step.block);
      step.act = Act::read;
      step.amount = 100'000;
      return step;
    }
    step.act = Act::free;
    return step;
  }

  Step allocate(Step step) {
    step.act = Act::allocate;
    step.block = ++blocks_;
    step.amount = pick({512, 4096, 300'000, kMiB, kMiB + 1, 3 * kMiB, 8 * kMiB, 12 * kMiB, 20 * kMiB});
    owned_[step.thread].push_back(step.block);
    return step;
  }

  Step rare(Step step) {
    const std::uint64_t dice = below(100);
    if (dice < 40) {
      step.act = Act::advance;
      step.amount = pick({1'000, 100'000, 1'000'000});
    } else if (dice < 60) {
      step.act = Act::empty_cache;
    } else if (dice < 75) {
      step.act = Act::configure;
      step.amount = below(kSettings.size());
    } else {
      step.act = dice < 90 ? Act::retire : Act::drop;
      step.stream = static_cast<std::uint32_t>(1 + below(kStreams - 1));
    }
    return step;
  }

  std::mt19937_64 engine_;
  std::array<std::vector<std::uint32_t>, kThreads> owned_;
  std::uint32_t blocks_ = 0;
  Step outer_;
};

std::string to_text(const Step& step) {
  std::ostringstream out;
  const auto block = [&](const char* word) -> std::ostream& { return out << word << " b" << step.block; };
  switch (step.act) {
    case Act::allocate:
      block("alloc") << ' ' << step.amount << ' ' << step.stream;
      break;
    case Act::read:
      block("read") << ' ' << step.stream << ' ' << step.amount;
      break;
    case Act::write:
      block("write") << ' ' << step.stream << ' ' << step.amount;
      break;
    case Act::free:
      block("free");
      break;
    case Act::empty_cache:
      out << "empty_cache";
      break;
    case Act::retire:
      out << "retire " << step.stream;
      break;
    case Act::drop:
      out << "drop " << step.stream;
      break;
    case Act::advance:
      out << "advance " << step.amount;
      break;
    case Act::configure:
      out << "settings " << settings_text(step.amount);
      break;
  }
  return out.str();
}

}  // namespace

const char* settings_text(std::uint64_t number) { return kSettings[number]; }

Program generate(std::uint64_t seed, std::size_t steps) { return Generator(seed).program(steps); }

std::string to_text(const Program& program) {
  std::ostringstream out;
  out << "cap " << program.capacity << "\nconfig " << settings_text(program.settings) << '\n';
  for (const Step& step : program.operations) {
    out << (step.inside ? "  " : "") << to_text(step) << "  # thread " << step.thread << '\n';
  }
  return out.str();
}

}  // namespace quarry::hunt
