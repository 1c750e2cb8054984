// What the model does when nothing fits: a new segment, and what is given back for it.
#include "support/oracle.h"

#include <algorithm>

namespace quarry::oracle {
namespace {

constexpr std::uint64_t kNone = kUnlimited.count;

std::int64_t as_signed(std::uint64_t n) { return static_cast<std::int64_t>(n); }

}  // namespace

// Section 4 from step 6 on, without events, callbacks, garbage collection and pools.
Outcome Oracle::climb(const Need& need) {
  Grown grown = grow(need);
  if (grown == Grown::full && max_split_ != kNone && release_oversize(need)) grown = grow(need);
  if (grown == Grown::full) {
    ++tallies_["num_sync_all_streams"];
    release_all();
    ++tallies_["num_alloc_retries"];
    grown = grow(need);
  }
  if (grown == Grown::yes) return hand_out({segments_.size() - 1, 0}, need);
  if (grown == Grown::broken) return {.kind = Kind::driver_error};
  ++tallies_["num_ooms"];
  return {.kind = Kind::out_of_memory};
}

Oracle::Grown Oracle::grow(const Need& need) {
  const std::uint64_t limit = std::min(fraction_limit_, start_.memory_limit);
  if (reserved_ + need.segment_size > limit) return Grown::full;
  const bool fault = fault_in_ == 1;
  if (fault_in_ > 0) --fault_in_;
  const bool fits = reserved_ + start_.outside + need.segment_size <= start_.capacity;
  calls_.push_back({true, need.segment_size, fits && !fault});
  if (fault && fault_other_) return Grown::broken;
  if (fault || !fits) return Grown::full;
  segments_.push_back(
      {next_number_++, 0, need.segment_size, need.stream, need.small, {Block{.size = need.segment_size}}});
  reserved_ += need.segment_size;
  ++tallies_["num_device_alloc"];
  count("segment", need.small, 1);
  count("reserved_bytes", need.small, as_signed(need.segment_size));
  if (need.segment_size >= max_split_) count("oversize_segments", 1);
  return Grown::yes;
}

// L5. A split block never goes: what lies beside it is live.
bool Oracle::release_oversize(const Need& need) {
  const std::uint64_t enough = std::max(need.rounded, max_split_);
  const std::vector<Place> candidates = free_set(need.small, &need.stream);
  for (const Place place : candidates) {
    if (block(place).size < enough) continue;
    if (!whole(place)) break;
    release({segments_[place.segment].number});
    return true;
  }
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> going;
  for (auto it = candidates.rbegin(); it != candidates.rend() && sum < enough && block(*it).size >= max_split_; ++it) {
    if (!whole(*it)) continue;
    going.push_back(segments_[it->segment].number);
    sum += block(*it).size;
  }
  release(going);
  return sum >= enough;
}

// L7: the large pool before the small one, each in the order of its free set.
std::uint64_t Oracle::release_all() {
  std::vector<std::uint64_t> going;
  for (const bool small : {false, true}) {
    for (const Place place : free_set(small, nullptr)) {
      if (whole(place)) going.push_back(segments_[place.segment].number);
    }
  }
  return release(going);
}

std::uint64_t Oracle::release(const std::vector<std::uint64_t>& numbers) {
  std::uint64_t released = 0;
  for (const std::uint64_t number : numbers) {
    const auto it =
        std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) { return s.number == number; });
    calls_.push_back({false, it->size, true});
    released += it->size;
    reserved_ -= it->size;
    ++tallies_["num_device_free"];
    count("segment", it->small, -1);
    count("reserved_bytes", it->small, -as_signed(it->size));
    if (it->size >= max_split_) count("oversize_segments", -1);
    segments_.erase(it);
  }
  return released;
}

Outcome Oracle::run(const EmptyCache&) {
  ++tallies_["num_sync_all_streams"];
  Outcome outcome;
  outcome.released = release_all();
  return outcome;
}

}  // namespace quarry::oracle
