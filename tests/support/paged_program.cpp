#include "support/paged_program.h"

#include <initializer_list>
#include <random>
#include <sstream>

namespace quarry::paged {
namespace {

constexpr std::uint64_t kUnit = 512;

class Generator {
 public:
  Generator(std::uint64_t seed, const Start& start, const Range& range)
      : engine_(seed), start_(start), range_(range), page_(start.page.count) {}

  Program program(std::size_t steps) {
    if (!start_.mapping) start_.capacity = {1ull << 40};  // a device without end would really give 2^50 bytes
    if (range_.tight_device) start_.capacity = {pick({4, 9, 30, 120}) * page_ + below(2) * page_ / 2};
    crowd_ = pick({4, 20, 80});
    Program program{start_, {}};
    while (program.operations.size() < steps) program.operations.push_back(next());
    return program;
  }

 private:
  // No std:: distribution: the same seed gives the same program on every machine.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  std::uint64_t pick(std::initializer_list<std::uint64_t> of) { return of.begin()[below(of.size())]; }
  std::uint32_t stream() { return static_cast<std::uint32_t>(below(range_.streams)); }

  // Around every edge: the unit, half a page, whole pages and a bit, far more than there is.
  std::uint64_t fresh_size() {
    const std::uint64_t odd = pick({0, 1, kUnit - 1});
    switch (below(12)) {
      case 0:
        return 1 + below(2000);
      case 1:
        return kUnit * (1 + below(40)) - odd;
      case 2:
        return page_ / 2 + kUnit * (1 + below(4)) - odd;
      case 3:
        return page_ - kUnit * below(4) - odd;
      case 4:
        return page_ * (1 + below(6)) + kUnit * (1 + below(3));
      case 5:
        return page_ * (1 + below(6)) + 1 + below(page_);
      case 6:
        return page_ * (1 + below(6));
      case 7:
        return page_ * (2 + below(6)) - kUnit * (1 + below(3));
      case 8:
        return 1 + below(page_);
      case 9:
        return page_ * (8 + below(40)) + below(2) * below(page_);
      case 10:
        return page_ / 16 * (1 + below(20));
      default:
        return chance(95) ? 1 + below(page_ / 4) : pick({1ull << 45, 1ull << 50, (1ull << 60) - 1, 1ull << 60, 0});
    }
  }
  std::uint64_t size() {
    if (!sizes_.empty() && chance(35)) return sizes_[below(sizes_.size())];
    sizes_.push_back(fresh_size());
    return sizes_.back();
  }

  Step next() {
    if (chance(10)) return rare();
    const bool crowded = live_.size() > crowd_;
    if (live_.empty() || !chance(crowded ? 75 : 50)) return allocate();
    const std::size_t chosen = chance(30) ? live_.size() - 1 : below(live_.size());
    Step step;
    step.block = live_[chosen];
    step.stream = stream();
    if (chance(range_.streams > 1 ? 40 : 15)) {
      step.act = chance(60) ? Act::write : Act::read;
      step.amount = pick({0, 1'000, 100'000});
      return step;
    }
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(chosen));
    step.act = Act::free;
    return step;
  }

  Step allocate() {
    Step step;
    step.act = Act::allocate;
    step.block = ++blocks_;
    step.stream = stream();
    step.amount = size();
    step.flag = chance(4);
    if (range_.pools && chance(15)) step.pool = static_cast<std::uint32_t>(below(kPools));
    live_.push_back(step.block);
    return step;
  }

  Step rare() {
    Step step;
    step.stream = stream();
    step.other = stream();
    const std::uint64_t dice = below(100);
    if (range_.streams > 1 && dice < 45) {
      step.act = dice < 20 ? Act::wait : dice < 38 ? Act::advance : dice < 42 ? Act::stream_waits : Act::retire;
      step.amount = step.act == Act::advance ? pick({1'000, 100'000, 10'000'000}) : below(3);
      return step;
    }
    if (range_.pools && dice < 70) return about_pools(step);
    if (range_.tight_device && dice < 85) {
      step.act = dice < 75 ? Act::limit : dice < 80 ? Act::fraction : Act::outside;
      if (step.act == Act::limit) step.amount = below(2) * (1 + (start_.capacity.count >> 20) * below(4) / 3);
      if (step.act == Act::fraction) step.amount = pick({100, 100, 60, 30});
      if (step.act == Act::outside) step.amount = start_.capacity.count / 4 * below(4);
      return step;
    }
    step.act = Act::empty_cache;
    return step;
  }

  Step about_pools(Step step) {
    step.pool = static_cast<std::uint32_t>(1 + below(kPools - 1));
    step.flag = chance(50);
    const std::uint64_t dice = below(100);
    step.act = dice < 35   ? Act::begin_pool
               : dice < 60 ? Act::end_pool
               : dice < 80 ? Act::release_pool
               : dice < 95 ? Act::empty_pool
                           : Act::no_split;
    return step;
  }

  std::mt19937_64 engine_;
  Start start_;
  Range range_;
  std::uint64_t page_;
  std::size_t crowd_ = 0;  // live blocks to hover around
  std::vector<std::uint32_t> live_;
  std::vector<std::uint64_t> sizes_;
  std::uint32_t blocks_ = 0;
};

std::string to_text(const Step& step) {
  std::ostringstream out;
  const auto word = [&](const char* text, auto... rest) { ((out << text), ..., (out << ' ' << rest)); };
  const auto block = "b" + std::to_string(step.block);
  switch (step.act) {
    case Act::allocate:
      word("alloc", block, step.amount, step.stream);
      if (step.pool != 0) out << " pool " << step.pool;
      if (step.flag) out << " contiguous";
      break;
    case Act::read:
      word("read", block, step.stream, step.amount);
      break;
    case Act::write:
      word("write", block, step.stream, step.amount);
      break;
    case Act::free:
      word("free", block);
      break;
    case Act::wait:
      word("wait", step.stream, "for", step.other);
      break;
    case Act::advance:
      word("advance", step.amount);
      break;
    case Act::empty_cache:
      word("empty_cache");
      break;
    case Act::stream_waits:
      word("stream_waits", step.amount);
      break;
    case Act::limit:
      word("limit_mb", step.amount);
      break;
    case Act::fraction:
      word("fraction_percent", step.amount);
      break;
    case Act::outside:
      word("outside", step.amount);
      break;
    case Act::begin_pool:
      word("begin_pool", step.pool);
      if (step.flag) out << " stream " << step.stream;
      break;
    case Act::end_pool:
      word("end_pool", step.pool);
      break;
    case Act::release_pool:
      word("release_pool", step.pool);
      break;
    case Act::empty_pool:
      word("empty_pool", step.pool);
      break;
    case Act::no_split:
      word("no_split", step.pool);
      break;
    case Act::retire:
      word("retire", step.stream);
      break;
  }
  return out.str();
}

}  // namespace

Program generate(std::uint64_t seed, std::size_t steps, const Start& start, const Range& range) {
  return Generator(seed, start, range).program(steps);
}

std::string to_text(const Program& program) {
  std::ostringstream out;
  const Start& start = program.start;
  out << "# page " << start.page.count << (start.placement == PlacementRule::tight ? ", tight" : ", fast")
      << ", stream_waits " << static_cast<int>(start.waits) << (start.mapping ? "" : ", no mapping") << "\ncap "
      << start.capacity.count << '\n';
  for (const Step& step : program.operations) out << to_text(step) << '\n';
  return out.str();
}

}  // namespace quarry::paged
