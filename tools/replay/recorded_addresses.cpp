#include "tools/replay/recorded_addresses.h"

#include <algorithm>
#include <iterator>

namespace quarry::tools {

RecordedAddresses::RecordedAddresses(std::span<const SegmentView> start, std::span<const GrownSegment> grown,
                                     std::span<const GrownSegment> reservations) {
  for (const SegmentView& segment : start) start_.push_back(segment.address);
  for (const GrownSegment& segment : grown) grown_[{segment.size, segment.stream}].push_back(segment.address);
  for (const GrownSegment& segment : reservations) reservations_[segment.stream].push_back(segment.address);
}

bool RecordedAddresses::taken(Address base, Bytes size) const {
  const auto above = in_use_.lower_bound(base);
  if (above != in_use_.end() && above->first - base < size) return true;
  return above != in_use_.begin() && std::prev(above)->first + std::prev(above)->second > base;
}

Address RecordedAddresses::place(Address base, Bytes size) {
  in_use_.emplace(base, size);
  return base;
}

Address RecordedAddresses::place_foreign(Bytes size) {
  constexpr std::uint64_t kStep = 2ull << 20;
  ++foreign_;
  const Address base = next_foreign_;
  next_foreign_ = base + Bytes{(size.count + kStep - 1) / kStep * kStep};
  return place(base, size);
}

Address RecordedAddresses::next(Bytes size) {
  if (!start_.empty()) {
    const Address base = start_.front();
    start_.pop_front();
    return place(base, size);
  }
  const auto queue = grown_.find({size, stream_});
  if (queue == grown_.end()) return place_foreign(size);
  while (!queue->second.empty()) {
    const Address base = queue->second.front();
    queue->second.pop_front();
    if (!taken(base, size)) return place(base, size);
  }
  return place_foreign(size);
}

Address RecordedAddresses::next_reservation(Bytes) {
  std::deque<Address>& queue = reservations_[stream_];
  if (queue.empty()) {
    ++foreign_;
    return {};  // the device's own layout, far from every recording
  }
  const Address base = queue.front();
  queue.pop_front();
  return base;
}

void RecordedAddresses::withdraw(const GrownSegment& segment) {
  const auto queue = grown_.find({segment.size, segment.stream});
  if (queue == grown_.end()) return;
  const auto found = std::ranges::find(queue->second, segment.address);
  if (found != queue->second.end()) queue->second.erase(found);
}

}  // namespace quarry::tools
