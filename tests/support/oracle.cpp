#include "support/oracle.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <tuple>

namespace quarry::oracle {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kNone = kUnlimited.count;

std::int64_t as_signed(std::uint64_t n) { return static_cast<std::int64_t>(n); }

std::string pool_name(bool small) { return small ? ".small_pool" : ".large_pool"; }

}  // namespace

Oracle::Oracle(const Start& start) : start_(start) { apply_settings(start.settings); }

Outcome Oracle::apply(const Operation& operation) {
  calls_.clear();
  Outcome outcome = std::visit([this](const auto& op) { return run(op); }, operation);
  outcome.calls = calls_;
  return outcome;
}

void Oracle::place(std::uint64_t number, std::uint64_t address) {
  for (Segment& segment : segments_) {
    if (segment.number == number) segment.address = address;
  }
}

std::vector<LayoutRow> Oracle::layout() const {
  std::vector<LayoutRow> rows;
  for (const Segment& segment : segments_) {
    for (const Block& b : segment.blocks) {
      rows.push_back({segment.number, b.offset, b.size, b.live ? b.requested : 0, segment.stream, b.live});
    }
  }
  return rows;
}

// Requests and frees ------------------------------------------------------------------------------------------------

Outcome Oracle::run(const Allocate& op) {
  if (op.size == 0) return {.kind = Kind::null};
  if (op.size >= 1ull << 60) return {.kind = Kind::out_of_memory};
  Need need{.id = op.id, .requested = op.size, .rounded = round(op.size), .stream = op.stream};
  need.small = need.rounded <= kMiB;
  need.segment_size = segment_size(need.rounded);
  if (Place found; find(need, found)) return hand_out(found, need);
  return climb(need);
}

// Order of the free set: stream, size, tie-break.
bool Oracle::free_before(Place a, Place b) const {
  const Segment& sa = segments_[a.segment];
  const Segment& sb = segments_[b.segment];
  const Block& ba = block(a);
  const Block& bb = block(b);
  if (start_.tie_break == TieBreak::address) {
    return std::tuple(sa.stream, ba.size, sa.address + ba.offset) <
           std::tuple(sb.stream, bb.size, sb.address + bb.offset);
  }
  return std::tuple(sa.stream, ba.size, sa.number, ba.offset) < std::tuple(sb.stream, bb.size, sb.number, bb.offset);
}

std::vector<Oracle::Place> Oracle::free_set(bool small, const std::uint32_t* only_stream) const {
  std::vector<Place> places;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (segments_[s].small != small || (only_stream != nullptr && segments_[s].stream != *only_stream)) continue;
    for (std::size_t b = 0; b < segments_[s].blocks.size(); ++b) {
      if (!segments_[s].blocks[b].live) places.push_back({s, b});
    }
  }
  std::sort(places.begin(), places.end(), [this](Place a, Place b) { return free_before(a, b); });
  return places;
}

// Section 3: the first block that is big enough is judged, and no other.
bool Oracle::find(const Need& need, Place& found) const {
  bool any = false;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = segments_[s];
    if (segment.small != need.small || segment.stream != need.stream) continue;
    for (std::size_t b = 0; b < segment.blocks.size(); ++b) {
      if (segment.blocks[b].live || segment.blocks[b].size < need.rounded) continue;
      if (!any || free_before({s, b}, found)) found = {s, b};
      any = true;
    }
  }
  if (!any) return false;
  const std::uint64_t size = block(found).size;
  if (need.rounded < max_split_) return size < max_split_;
  return size < need.rounded + (non_split_rounding_ == kNone ? large_segment_ : non_split_rounding_);
}

Outcome Oracle::hand_out(Place place, const Need& need) {
  Segment& segment = segments_[place.segment];
  Block& taken = segment.blocks[place.block];
  const bool was_split = segment.blocks.size() > 1;
  const std::uint64_t rest = taken.size - need.rounded;
  const bool cut = need.small ? rest >= 512 : need.rounded < max_split_ && rest > kMiB;
  if (was_split) count("inactive_split_bytes", need.small, -as_signed(cut ? need.rounded : taken.size));
  if (was_split && !cut) count("inactive_split", need.small, -1);
  if (!was_split && cut) {
    count("inactive_split", need.small, 1);
    count("inactive_split_bytes", need.small, as_signed(rest));
  }
  if (cut) taken.size = need.rounded;
  taken.live = true;
  taken.id = need.id;
  taken.requested = need.requested;
  const std::int64_t size = as_signed(taken.size);
  const Outcome outcome{Kind::placed, segment.number, taken.offset, taken.size};
  if (cut) {
    const auto after = segment.blocks.begin() + static_cast<std::ptrdiff_t>(place.block) + 1;
    segment.blocks.insert(after, Block{.offset = outcome.offset + outcome.size, .size = rest});
  }
  for (const char* name : {"allocation", "active"}) count(name, need.small, 1);
  for (const char* name : {"allocated_bytes", "active_bytes"}) count(name, need.small, size);
  count("requested_bytes", need.small, as_signed(need.requested));
  if (outcome.size >= max_split_) count("oversize_allocations", 1);
  return outcome;
}

Outcome Oracle::run(const Free& op) {
  for (Segment& segment : segments_) {
    for (Block& freed : segment.blocks) {
      if (!freed.live || freed.id != op.id) continue;
      give_back(segment, freed);
      return {};
    }
  }
  return {.kind = Kind::skipped};
}

void Oracle::give_back(Segment& segment, Block& freed) {
  const Idle before = idle(segment);
  for (const char* name : {"allocation", "active"}) count(name, segment.small, -1);
  for (const char* name : {"allocated_bytes", "active_bytes"}) count(name, segment.small, -as_signed(freed.size));
  count("requested_bytes", segment.small, -as_signed(freed.requested));
  if (freed.size >= max_split_) count("oversize_allocations", -1);
  freed.live = false;
  for (std::size_t k = segment.blocks.size(); k-- > 1;) {
    if (segment.blocks[k].live || segment.blocks[k - 1].live) continue;
    segment.blocks[k - 1].size += segment.blocks[k].size;
    segment.blocks.erase(segment.blocks.begin() + static_cast<std::ptrdiff_t>(k));
  }
  // F1: one net change of what is free in split segments, whatever merged.
  const Idle after = idle(segment);
  count("inactive_split", segment.small, after.blocks - before.blocks);
  count("inactive_split_bytes", segment.small, after.bytes - before.bytes);
}

Oracle::Idle Oracle::idle(const Segment& segment) {
  Idle sum;
  if (segment.blocks.size() == 1) return sum;
  for (const Block& b : segment.blocks) {
    if (b.live) continue;
    ++sum.blocks;
    sum.bytes += as_signed(b.size);
  }
  return sum;
}

// Counters ----------------------------------------------------------------------------------------------------------

Outcome Oracle::run(const ResetPeak&) {
  for (auto& [name, row] : rows_) row[1] = row[0];
  return {};
}

Outcome Oracle::run(const ResetAccumulated&) {
  for (auto& [name, row] : rows_) row[2] = row[3] = 0;
  tallies_.clear();
  return {};
}

void Oracle::count(const std::string& name, std::int64_t change) {
  if (change == 0) return;
  Row& row = rows_[name];
  row[0] += change;
  row[1] = std::max(row[0], row[1]);
  row[change > 0 ? 2 : 3] += std::abs(change);
}

void Oracle::count(const std::string& name, bool small, std::int64_t change) {
  count(name + ".all", change);
  count(name + pool_name(small), change);
}

std::ostream& operator<<(std::ostream& out, Kind kind) {
  static constexpr std::array<const char*, 6> kNames = {"done",    "placed",        "null",
                                                        "skipped", "out of memory", "driver error"};
  return out << kNames[static_cast<std::size_t>(kind)];
}

std::string to_text(const Outcome& outcome) {
  std::ostringstream out;
  out << outcome.kind;
  if (outcome.kind == Kind::placed) {
    out << " [" << outcome.segment << ", " << outcome.offset << ", " << outcome.size << ']';
  }
  if (outcome.released != 0) out << " released " << outcome.released;
  for (const SegmentCall& call : outcome.calls) {
    out << (call.get ? " get " : " give ") << call.size << (call.ok ? "" : " refused");
  }
  return out.str();
}

}  // namespace quarry::oracle
