#include <quarry/allocator/sim/address_layout.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include <quarry/allocator/check.h>

namespace quarry::sim {

std::optional<Bytes> round_up(Bytes size, Bytes granularity) {
  const std::uint64_t over = size.count % granularity.count;
  if (over == 0) return size;
  const std::uint64_t missing = granularity.count - over;
  if (size.count > std::numeric_limits<std::uint64_t>::max() - missing) return std::nullopt;
  return Bytes{size.count + missing};
}

AddressLayout::AddressLayout(Address base, Address top, Bytes granularity)
    : base_(base), top_(top), granularity_(granularity) {
  QUARRY_CHECK(base < top, "an address layout needs room");
  gaps_.emplace(base, top);
}

std::optional<Address> AddressLayout::take(Bytes size, Bytes alignment) {
  for (const auto& [begin, end] : gaps_) {
    const std::optional<Bytes> aligned = round_up(Bytes{begin.value}, alignment);
    if (!aligned || aligned->count > end.value || end.value - aligned->count < size.count) continue;
    const Address at{aligned->count};
    take_at(at, size);
    return at;
  }
  return std::nullopt;
}

void AddressLayout::take_at(Address at, Bytes size) {
  const Address begin = std::max(at, base_);
  const Address end = std::min(at + size, top_);
  if (begin >= end) return;
  auto gap = gaps_.upper_bound(begin);
  QUARRY_CHECK(gap != gaps_.begin() && std::prev(gap)->second >= end, "the range is free in the layout");
  gap = std::prev(gap);
  const auto [gap_begin, gap_end] = *gap;
  gaps_.erase(gap);
  if (gap_begin < begin) gaps_.emplace(gap_begin, begin);
  if (end < gap_end) gaps_.emplace(end, gap_end);
}

void AddressLayout::give_back(Address at, Bytes size) {
  Address begin = std::max(at, base_);
  Address end = std::min(at + size, top_);
  if (begin >= end) return;
  auto after = gaps_.upper_bound(begin);
  if (after != gaps_.begin() && std::prev(after)->second == begin) {
    begin = std::prev(after)->first;
    gaps_.erase(std::prev(after));
  }
  if (after != gaps_.end() && after->first == end) {
    end = after->second;
    gaps_.erase(after);
  }
  gaps_.emplace(begin, end);
}

}  // namespace quarry::sim
