#include "support/generator.h"

#include <algorithm>

namespace quarry::oracle {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kHuge = 1ull << 38;  // more than most devices have, and many of them fit an unbounded one

}  // namespace

Generator::Generator(std::uint64_t seed) : engine_(seed) {}

Program Generator::program(std::size_t operations) {
  Program program{start(), {}};
  crowd_ = pick({5, 30, 120});
  live_.clear();
  sizes_.clear();
  while (program.operations.size() < operations) program.operations.push_back(operation());
  return program;
}

Start Generator::start() {
  Start start;
  if (chance(70)) start.settings = settings();
  start.tie_break = chance(50) ? TieBreak::segment : TieBreak::address;
  start.capacity = chance(10) ? kUnlimited.count : pick({24, 64, 150, 300, 700, 2048}) * kMiB + below(3) * kMiB;
  if (chance(20)) start.outside = below(12) * kMiB;
  if (chance(20)) start.memory_limit = pick({20, 60, 200, 500}) * kMiB + below(2) * 512;
  start.streams = static_cast<std::uint32_t>(1 + below(4));
  streams_ = start.streams;
  capacity_ = start.capacity;
  return start;
}

// Only what every moment accepts: a split limit is at least the large segment, whatever was set before.
Settings Generator::settings() {
  Settings settings;
  if (chance(30)) settings.large_segment_mib = pick({12, 20, 32, 40});
  if (chance(60)) settings.max_split_mib = pick({40, 48, 64, 100, 200});
  if (chance(30)) settings.max_non_split_rounding_mib = pick({40, 64, 100});
  if (chance(30)) settings.roundup = roundup();
  max_split_ = settings.max_split_mib ? *settings.max_split_mib * kMiB : kUnlimited.count;
  rounding_ = settings.max_non_split_rounding_mib.value_or(settings.large_segment_mib.value_or(20)) * kMiB;
  return settings;
}

Roundup Generator::roundup() {
  if (chance(50)) return {.all = static_cast<std::uint32_t>(pick({1, 2, 4, 8, 64}))};
  Roundup roundup;
  std::uint64_t mib = 1;
  for (std::uint64_t n = below(4); n > 0; --n) {
    mib <<= below(4);
    roundup.list.emplace_back(mib, static_cast<std::uint32_t>(pick({0, 1, 2, 4, 16})));
    mib <<= 1;
  }
  if (roundup.list.empty() || chance(50)) roundup.list.emplace_back(0, static_cast<std::uint32_t>(pick({1, 4, 8})));
  return roundup;
}

// A third of the requests repeat an earlier size, so that equal blocks have to be told apart.
std::uint64_t Generator::size() {
  if (!sizes_.empty() && chance(35)) return sizes_[below(sizes_.size())];
  sizes_.push_back(fresh_size());
  return sizes_.back();
}

std::uint64_t Generator::fresh_size() {
  const std::uint64_t near = below(1027);
  switch (below(13)) {
    case 0:
      return below(2000);
    case 1:
      return 512 * (1 + below(200)) + near % 3 - 1;
    case 2:
      return kMiB - 513 + near;
    case 3:
      return kMiB + below(9 * kMiB);
    case 4:
      return 10 * kMiB - 513 + near;
    case 5:
      return 9 * kMiB + below(12 * kMiB);
    case 6:
      return 20 * kMiB - 513 + near;
    case 7:
      return 19 * kMiB + below(2 * kMiB);
    case 8:
      return (max_split_ == kUnlimited.count ? 40 * kMiB : max_split_) - 513 + near;
    case 9:
      return 2 * kMiB * (1 + below(60));
    case 10:
      return 20 * kMiB + below(230 * kMiB);
    case 11: {  // so much below an earlier one that a whole block is just too big, or just not
      const std::uint64_t earlier = sizes_.empty() ? 0 : sizes_[below(sizes_.size())] / (2 * kMiB) * (2 * kMiB);
      return earlier > rounding_ && earlier < kHuge ? earlier - rounding_ + 512 * below(3) - 512 : earlier;
    }
    default:
      return chance(50) ? below(1 << 18) : pick({kHuge, 1ull << 60, ~0ull, 1, 512, 0});
  }
}

Operation Generator::operation() {
  if (chance(4)) return rare();
  const bool crowded = live_.size() > crowd_;
  if (!live_.empty() && chance(crowded ? 60 : 38)) return free();
  return allocate();
}

Operation Generator::rare() {
  const std::uint64_t roll = below(20);
  if (roll < 8) return EmptyCache{};
  if (roll < 10) return ResetPeak{};
  if (roll < 11) return ResetAccumulated{};
  if (roll < 12) return SetFraction{chance(50) ? 1.0 : 0.25 * static_cast<double>(1 + below(3))};
  if (roll < 14) return Configure{settings()};
  if (roll < 15) return SetOutside{below(4) * 5 * kMiB};
  if (roll < 16) return SetCapacity{capacity_ == kUnlimited.count ? capacity_ : capacity_ / 2 * (1 + below(3))};
  return FailSegment{1 + below(3), chance(30)};
}

Allocate Generator::allocate() {
  live_.push_back(next_id_);
  return {next_id_++, size(), static_cast<std::uint32_t>(below(streams_))};
}

Free Generator::free() {
  const std::size_t chosen = chance(30) ? live_.size() - 1 : below(live_.size());
  const Free free{live_[chosen]};
  live_[chosen] = live_.back();
  live_.pop_back();
  return free;
}

}  // namespace quarry::oracle
