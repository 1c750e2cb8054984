// What the model is told: options, limits, the device. And what follows from them for the size of a request.
#include "support/oracle.h"

#include <cmath>

namespace quarry::oracle {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kNone = kUnlimited.count;

std::uint64_t up_to_multiple(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

}  // namespace

// Section 8 and S2: what a string does not name goes back to its default, the large segment size excepted.
void Oracle::apply_settings(const Settings& settings) {
  if (settings.large_segment_mib) large_segment_ = *settings.large_segment_mib * kMiB;
  max_split_ = settings.max_split_mib ? *settings.max_split_mib * kMiB : kNone;
  non_split_rounding_ = settings.max_non_split_rounding_mib ? *settings.max_non_split_rounding_mib * kMiB : kNone;
  divisions_ = {};
  if (!settings.roundup) return;
  if (settings.roundup->list.empty()) divisions_.fill(settings.roundup->all);
  std::size_t last = 0;
  bool first = true;
  for (const auto& [mib, divisions] : settings.roundup->list) {
    if (mib == 0) {  // ">": all above the last key; alone it leaves the first interval as it is (finding 6)
      for (std::size_t i = last + 1; i < divisions_.size(); ++i) divisions_[i] = divisions;
      continue;
    }
    last = 0;
    for (std::uint64_t m = mib; m > 1 && last < 15; m /= 2) ++last;
    for (std::size_t i = 0; first && i < last; ++i) divisions_[i] = divisions;
    divisions_[last] = divisions;
    first = false;
  }
}

std::uint64_t Oracle::round(std::uint64_t size) const {
  if (size < 512) return 512;
  std::size_t interval = 0;
  std::uint64_t power = 1;  // the largest power of two <= size
  while (power <= size / 2) power *= 2;
  for (std::uint64_t p = kMiB; p * 2 <= power && interval < 15; p *= 2) ++interval;
  const std::uint64_t divisions = divisions_[interval];
  if (divisions > 1 && size > 512 * divisions) {
    return size == power ? size : power + up_to_multiple(size - power, power / divisions);
  }
  return up_to_multiple(size, 512);
}

std::uint64_t Oracle::segment_size(std::uint64_t rounded) const {
  if (rounded <= kMiB) return 2 * kMiB;
  if (rounded < 10 * kMiB) return large_segment_;
  return up_to_multiple(rounded, 2 * kMiB);
}

Outcome Oracle::run(const SetFraction& op) {
  fraction_limit_ = kNone;
  if (op.fraction < 1 && start_.capacity != kNone) {
    fraction_limit_ = static_cast<std::uint64_t>(std::floor(op.fraction * static_cast<double>(start_.capacity)));
  }
  return {};
}

Outcome Oracle::run(const Configure& op) {
  apply_settings(op.settings);
  return {};
}

Outcome Oracle::run(const SetCapacity& op) {
  start_.capacity = op.bytes;
  return {};
}

Outcome Oracle::run(const SetOutside& op) {
  start_.outside = op.bytes;
  return {};
}

Outcome Oracle::run(const FailSegment& op) {
  fault_in_ = op.nth;
  fault_other_ = op.other;
  return {};
}

}  // namespace quarry::oracle
