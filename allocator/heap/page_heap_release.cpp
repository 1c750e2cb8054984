// PageHeap: what is given back to the driver. Pages and aliases are taken out of every index first, then the host waits
// for all work, and only then is anything unmapped: addresses are not ordered by streams.
#include <algorithm>
#include <numeric>
#include <utility>

#include <quarry/allocator/heap/page_heap.h>
#include <quarry/allocator/pool.h>

namespace quarry {

Bytes PageHeap::collect_garbage(Bytes target) {
  return arena_.maps() ? release_pages(target) : release_segments(target);
}

Bytes PageHeap::release_cached() { return arena_.maps() ? release_pages(kUnlimited) : release_segments(kUnlimited); }

// Whole free pages, whoever may use them; the highest addresses first, so that the arena keeps its low end.
std::vector<PageHeap::Run> PageHeap::free_runs(Bytes most) const {
  std::vector<Run> runs;
  const unsigned shift = arena_.page_shift();
  const auto add = [&](Units begin, Units end) {
    const std::size_t first = static_cast<std::size_t>((begin + page_units() - 1) >> shift);
    const std::size_t last = static_cast<std::size_t>(end >> shift);
    if (first < last) runs.push_back({first, last - first});
  };
  Piece joined;
  for (const StreamViews::Free& range : views_.all()) {
    if (range.begin != joined.end) {
      add(joined.begin, joined.end);
      joined.begin = range.begin;
    }
    joined.end = range.end;
  }
  add(joined.begin, joined.end);
  std::ranges::reverse(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint64_t wanted = (most.count + arena_.page_size().count - 1) / arena_.page_size().count;
    if (most != kUnlimited && runs[i].count >= wanted) {
      runs[i] = {runs[i].first + runs[i].count - wanted, static_cast<std::size_t>(wanted)};
      runs.resize(wanted != 0 ? i + 1 : i);
      break;
    }
    if (most != kUnlimited) most -= arena_.page_size() * runs[i].count;
  }
  return runs;
}

Bytes PageHeap::release_pages(Bytes most) {
  const std::vector<Run> runs = free_runs(most);
  if (runs.empty()) {
    if (pages_ == 0) arena_.close();
    return {};
  }
  std::vector<std::vector<StreamViews::Free>> claimed;
  for (const Run run : runs) {
    claimed.push_back(views_.claim(run.first * page_units(), (run.first + run.count) * page_units()));
    claimed_ += run.count * page_units();
  }
  const std::vector<Alias*> aliases = claim_aliases(runs);
  if (!host_.quiesce()) {
    for (Alias* alias : aliases) arena_.aliases().put_to_sleep(*alias);
    for (const auto& ranges : claimed) views_.put_back(ranges);
    for (const Run run : runs) claimed_ -= run.count * page_units();
    return {};
  }
  bool unmapped = true;
  for (Alias* alias : aliases) {
    if (arena_.drop_alias(*alias)) continue;
    arena_.aliases().put_to_sleep(*alias);
    unmapped = false;  // a page under it would not go away
  }
  Bytes released;
  for (const Run run : runs) {
    const std::size_t gone = unmapped ? arena_.unmap(run) : 0;
    pages_ -= gone;
    claimed_ -= run.count * page_units();
    released += arena_.page_size() * gone;
    if (gone < run.count) views_.add_common((run.first + gone) * page_units(), (run.first + run.count) * page_units());
  }
  arena_.close();
  return released;
}

// Idle aliases that reach any of the pages.
std::vector<Alias*> PageHeap::claim_aliases(const std::vector<Run>& runs) {
  std::vector<bool> leaving(static_cast<std::size_t>(arena_.end() >> arena_.page_shift()));
  for (const Run run : runs) {
    for (std::size_t page = run.first; page < run.first + run.count; ++page) leaving[page] = true;
  }
  std::vector<Alias*> found;
  arena_.aliases().for_idle([&](Alias& alias) {
    if (std::ranges::any_of(alias.pages, [&](PageNumber page) { return leaving[page]; })) found.push_back(&alias);
    return true;
  });
  for (Alias* alias : found) arena_.aliases().claim(*alias);
  return found;
}

// The driver waits for all work before it takes a segment. It works without the heap lock, so that what was free when
// the runs were looked up may be taken when its turn comes.
Bytes PageHeap::release_segments(Bytes most) {
  Bytes released;
  for (const Run run : free_runs(kUnlimited)) {
    const auto segment = arena_.segments().find(run.first);
    if (segment == arena_.segments().end() || released >= most) continue;
    const Bytes size = segment->second.size;
    if (size != arena_.page_size() * run.count) continue;
    const auto claimed = views_.claim(run.first * page_units(), (run.first + run.count) * page_units());
    const Units free = std::accumulate(claimed.begin(), claimed.end(), Units{0},
                                       [](Units sum, const auto& range) { return sum + range.end - range.begin; });
    if (free != run.count * page_units()) {
      views_.put_back(claimed);
      continue;
    }
    claimed_ += run.count * page_units();
    const DriverStatus removed = arena_.remove_segment(run.first);
    claimed_ -= run.count * page_units();
    if (removed) {
      released += size;
      pages_ -= run.count;
    } else {
      views_.put_back(claimed);
    }
  }
  return released;
}

}  // namespace quarry
