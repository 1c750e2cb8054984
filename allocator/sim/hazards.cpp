#include <quarry/allocator/sim/hazards.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace quarry::sim {

namespace {

constexpr std::size_t kMostHazards = 1000;

std::string text(const ByteRange& range) {
  return std::to_string(range.size.count) + " bytes at " + std::to_string(range.base.value);
}

std::string text(const Use& use) {
  return "work " + std::to_string(use.sequence) + " of stream " + std::to_string(use.stream) +
         (use.writes ? " writes " : " reads ") + text(use.range);
}

}  // namespace

std::string describe(const Hazard& hazard) {
  switch (hazard.kind) {
    case HazardKind::conflict:
      return text(hazard.later) + ", but nothing orders it after: " + text(hazard.earlier);
    case HazardKind::release:
      return text(hazard.later.range) + " released, but the host has not seen the end of: " + text(hazard.earlier);
    case HazardKind::unmap:
      return text(hazard.later.range) + " unmapped, but the host has not seen the end of: " + text(hazard.earlier);
    case HazardKind::stray:
      return text(hazard.later) + ", where there is no memory";
  }
  return {};
}

class Hazards::Once {
 public:
  Once(Hazards& hazards, HazardKind kind, const Use& later) : hazards_(hazards), kind_(kind), later_(later) {}

  void report(const Past& past) {
    if (said_.emplace(past.slot, past.sequence).second) hazards_.report({kind_, past.use, later_});
  }

 private:
  Hazards& hazards_;
  HazardKind kind_;
  const Use& later_;
  std::set<std::pair<std::size_t, std::uint64_t>> said_;
};

void Hazards::report(const Hazard& hazard) {
  if (found_.size() < kMostHazards) found_.push_back(hazard);
}

std::vector<Hazard> Hazards::take() { return std::exchange(found_, {}); }

void Hazards::use(const Actor& actor, const Use& use, const std::vector<Places>& places) {
  Once once(*this, HazardKind::conflict, use);
  for (const Places& range : places) {
    const std::uint64_t end = range.place + range.size.count;
    cut(range.place);
    cut(end);
    fill(range.place, end);
    for (auto cell = cells_.find(range.place); cell != cells_.end() && cell->first < end; ++cell) {
      std::vector<Past>& past = cell->second.past;
      for (const Past& old : past) {
        if ((old.use.writes || use.writes) && !actor.clock.covers(old.slot, old.sequence)) once.report(old);
      }
      std::erase_if(past, [&](const Past& old) {
        if (actor.host.covers(old.slot, old.sequence)) return true;
        // Through another mapping it still matters to the unmapping of that one. A read does not stand in for a write.
        return actor.clock.covers(old.slot, old.sequence) && old.via == range.via && (use.writes || !old.use.writes);
      });
      past.push_back({actor.slot, actor.sequence, range.via, use});
    }
    merge(range.place, end);
  }
  if (cells_.size() > sweep_at_) sweep(actor.host);
}

void Hazards::end(HazardKind kind, const Use& by_host, const std::vector<Places>& places, const VectorClock& host) {
  Once once(*this, kind, by_host);
  for (const Places& range : places) {
    const std::uint64_t end = range.place + range.size.count;
    auto cell = cells_.upper_bound(range.place);
    if (cell != cells_.begin() && std::prev(cell)->second.end > range.place) --cell;
    for (; cell != cells_.end() && cell->first < end; ++cell) {
      for (const Past& old : cell->second.past) {
        const bool concerned = range.via == 0 || old.via == range.via;
        if (concerned && !host.covers(old.slot, old.sequence)) once.report(old);
      }
    }
  }
}

void Hazards::forget(const Places& range) {
  const std::uint64_t end = range.place + range.size.count;
  cut(range.place);
  cut(end);
  cells_.erase(cells_.lower_bound(range.place), cells_.lower_bound(end));
}

// ---- Cells ----

void Hazards::cut(std::uint64_t place) {
  auto cell = cells_.lower_bound(place);
  if (cell == cells_.begin()) return;
  --cell;
  if (cell->second.end <= place) return;
  cells_.emplace(place, cell->second);
  cell->second.end = place;
}

// Makes cells where there are none; [begin, end) has been cut at both ends.
void Hazards::fill(std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    const auto cell = cells_.lower_bound(begin);
    if (cell != cells_.end() && cell->first == begin) {
      begin = cell->second.end;
      continue;
    }
    const std::uint64_t until = cell == cells_.end() ? end : std::min(end, cell->first);
    cells_.emplace_hint(cell, begin, Cell{until, {}});
    begin = until;
  }
}

// Joins neighbours with the same past, in the range and at its two ends.
void Hazards::merge(std::uint64_t begin, std::uint64_t end) {
  auto cell = cells_.lower_bound(begin);
  if (cell != cells_.begin()) --cell;
  while (cell != cells_.end() && cell->first <= end) {
    const auto next = std::next(cell);
    if (next == cells_.end()) return;
    if (next->first == cell->second.end && next->second.past == cell->second.past) {
      cell->second.end = next->second.end;
      cells_.erase(next);
    } else {
      cell = next;
    }
  }
}

void Hazards::sweep(const VectorClock& host) {
  for (auto cell = cells_.begin(); cell != cells_.end();) {
    std::erase_if(cell->second.past, [&](const Past& old) { return host.covers(old.slot, old.sequence); });
    cell = cell->second.past.empty() ? cells_.erase(cell) : std::next(cell);
  }
  if (!cells_.empty()) merge(cells_.begin()->first, std::prev(cells_.end())->first);
  sweep_at_ = std::max<std::size_t>(1024, 2 * cells_.size());
}

}  // namespace quarry::sim
