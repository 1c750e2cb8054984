#include "support/hunt_program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

namespace quarry::hunt {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;

constexpr std::array kSettings = {"expandable_segments:False",
                                  "expandable_segments:True",
                                  "expandable_segments:False,close_holes:True",
                                  "max_split_size_mb:24",
                                  "expandable_segments:True,close_holes:True",
                                  "expandable_segments:False,graph_capture_record_stream_reuse:True"};

// Of the paged policy; their numbers go on after those.
constexpr std::array kPagedSettings = {"stream_waits:none", "stream_waits:few", "stream_waits:all",
                                       "stream_waits:all,close_holes:True,garbage_collection_threshold:0.5"};

// The scheduler: picks a logical thread and lets it do one thing.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed), pooled_(pick({0, 12, 30})) {}

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
  struct Capture {
    std::uint32_t pool;
    std::vector<std::uint32_t> streams;
  };

  // No std:: distribution: the same seed gives the same program on every machine.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  std::uint64_t pick(std::initializer_list<std::uint64_t> of) { return of.begin()[below(of.size())]; }

  // Another thread's, and not one that makes the outer call wrong: a stream is not dropped under a call that names it.
  bool may_be_inside(const Step& step) const {
    return step.thread != outer_.thread && step.act != Act::drop && step.act != Act::empty_cache &&
           step.act != Act::empty_pool;
  }

  Step next() {
    Step step;
    step.thread = capturing_ && chance(50) ? *capturing_ : static_cast<std::uint32_t>(below(kThreads));
    step.stream = static_cast<std::uint32_t>(below(kStreams));
    if (captures_[step.thread] && chance(80)) return captured(step);
    if (graphs_of_ && chance(20)) return launch(step);
    if (chance(pooled_)) return pooled(step);
    std::vector<std::uint32_t>& owned = owned_[step.thread];
    const std::uint64_t dice = below(100);
    if (owned.empty() || dice < 25) return allocate(step);
    if (dice >= 85) return rare(step);
    const std::size_t chosen = below(owned.size());
    step.block = owned[chosen];
    if (dice < 55) return use(step);
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
    step.amount = captures_[step.thread]
                      ? pick({4096, kMiB, 8 * kMiB})  // few, so that they are served from what was freed
                      : pick({512, 4096, 300'000, kMiB, kMiB + 1, 3 * kMiB, 8 * kMiB, 12 * kMiB, 20 * kMiB});
    owned_[step.thread].push_back(step.block);
    return step;
  }

  Step use(Step step) {
    step.act = chance(60) ? Act::write : Act::read;
    step.amount = pick({1'000, 100'000, 1'000'000});
    return step;
  }

  // What a thread does with the streams of its capture; the blocks are mostly those it got there, the last ones.
  Step captured(Step step) {
    Capture& capture = *captures_[step.thread];
    step.stream = capture.streams[below(capture.streams.size())];
    std::vector<std::uint32_t>& owned = owned_[step.thread];
    const std::uint64_t dice = below(100);
    if (owned.empty() || dice < 30) return allocate(step);
    if (dice >= 90) {
      step.act = Act::end_capture;
      graphs_of_ = capture.pool;
      captures_[step.thread].reset();
      capturing_.reset();
    } else if (dice >= 80) {
      step.act = Act::fork;
      step.stream = static_cast<std::uint32_t>(1 + below(kStreams - 1));
      capture.streams.push_back(step.stream);
    } else {
      const std::size_t back = 1 + below(std::min<std::size_t>(owned.size(), 3));
      step.block = owned[owned.size() - back];
      if (dice < 65) return use(step);
      owned.erase(owned.end() - static_cast<std::ptrdiff_t>(back));
      step.act = Act::free;
    }
    return step;
  }

  Step launch(Step step) {
    step.act = Act::launch;
    step.pool = *graphs_of_;
    step.amount = below(4);
    return step;
  }

  Step begin_capture(Step step) {
    step.act = Act::capture;
    step.stream = static_cast<std::uint32_t>(1 + below(kStreams - 1));
    step.pool = static_cast<std::uint32_t>(kPools - 1 - below(kGraphPools));
    captures_[step.thread] = Capture{step.pool, {step.stream}};
    capturing_ = step.thread;
    return step;
  }

  Step pooled(Step step) {
    const std::uint64_t dice = below(100);
    if (dice >= 35 && dice < 90 && !captures_[step.thread]) return begin_capture(step);
    step.pool = static_cast<std::uint32_t>(below(kPools - kGraphPools));
    if (dice < 20) {
      step.act = Act::begin_pool;
      step.amount = below(2);
    } else if (dice < 32) {
      step.act = Act::end_pool;
    } else if (dice < 35) {
      step.act = Act::lend;
    } else {
      step.act = dice < 97 ? Act::release : Act::empty_pool;
      step.pool = static_cast<std::uint32_t>(below(kPools));
    }
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
  std::array<std::optional<Capture>, kThreads> captures_;  // open ones
  std::optional<std::uint32_t> capturing_;                 // the thread that began a capture last
  std::optional<std::uint32_t> graphs_of_;                 // the pool of the capture that ended last
  std::uint64_t pooled_;                                   // steps in a hundred that are about pools
  std::uint32_t blocks_ = 0;
  Step outer_;
};

std::string to_text(const Step& step) {
  std::ostringstream out;
  const auto block = [&](const char* word) -> std::ostream& { return out << word << " b" << step.block; };
  const auto pool = [&](const char* word) -> std::ostream& { return out << word << ' ' << step.pool; };
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
    case Act::note_wait:
      out << "note_wait " << step.stream << ' ' << step.amount;
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
    case Act::begin_pool:
      pool("pool_begin");
      if (step.amount != 0) out << ' ' << step.stream;
      break;
    case Act::end_pool:
      pool("pool_end");
      break;
    case Act::release:
      pool("pool_release");
      break;
    case Act::empty_pool:
      pool("empty_pool");
      break;
    case Act::lend:
      pool("pool_use_on_oom");
      break;
    case Act::capture:
      pool("pool_begin") << ' ' << step.stream << " ; capture_begin " << step.stream;
      break;
    case Act::fork:
      out << "capture_join " << step.stream;
      break;
    case Act::end_capture:
      out << "capture_end";
      break;
    case Act::launch:
      pool("launch") << ' ' << step.stream;
      break;
  }
  return out.str();
}

}  // namespace

const char* settings_text(std::uint64_t number) {
  return number < kSettings.size() ? kSettings[number] : kPagedSettings[number - kSettings.size()];
}

std::string opening_text(const Program& program) {
  constexpr std::array kPolicies = {"policy:pytorch,", "policy:paged,placement:tight,", "policy:paged,placement:fast,"};
  return std::string(kPolicies[static_cast<std::size_t>(program.policy)]) + settings_text(program.settings);
}

Program generate(std::uint64_t seed, std::size_t steps) { return Generator(seed).program(steps); }

// Some steps in which time or work only passes become waits.
Program generate_paged(std::uint64_t seed, std::size_t steps) {
  Program program = generate(seed, steps);
  std::mt19937_64 engine(~seed);
  program.policy = engine() % 2 == 0 ? Policy::tight : Policy::fast;
  program.settings = kSettings.size() + engine() % kPagedSettings.size();
  for (Step& step : program.operations) {
    if (step.act == Act::configure) step.amount = kSettings.size() + engine() % kPagedSettings.size();
    const bool passes = step.act == Act::advance || step.act == Act::read;
    if (!passes || engine() % 3 != 0) continue;
    step.act = Act::note_wait;
    step.stream = static_cast<std::uint32_t>(engine() % kStreams);
    step.amount = engine() % kStreams;
  }
  return program;
}

std::string to_text(const Program& program) {
  std::ostringstream out;
  out << "cap " << program.capacity << "\nconfig " << opening_text(program) << '\n';
  for (const Step& step : program.operations) {
    out << (step.inside ? "  " : "") << to_text(step) << "  # thread " << step.thread << '\n';
  }
  return out.str();
}

}  // namespace quarry::hunt
