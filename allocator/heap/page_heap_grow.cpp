// PageHeap: misses. New pages in place or under an alias, pages of other pools, and waits instead of pages.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/page_heap.h>
#include <quarry/allocator/heap/page_rules.h>
#include <quarry/allocator/heap/placement_segments.h>
#include <quarry/allocator/pool.h>

namespace quarry {

Bytes PageHeap::growth(const Placement& placement) {
  const PageChoice choice = choose(views_.view(placement.stream), placement);
  return choice.kind == PageChoice::Kind::none ? placement.segment_size : arena_.page_size() * choice.grow;
}

DriverResult<Block*> PageHeap::grow(const Placement& placement) {
  if (!arena_.maps()) return grow_segment(placement);
  if (const DriverStatus status = arena_.open(); !status) return {status, nullptr};
  const bool may_wait = views_.several() && host_.heap_options().stream_waits != StreamWaits::none && host_.may_order();
  int tries = may_wait ? kWaitTries : 0;
  for (;;) {
    const PageChoice choice = choose(views_.view(placement.stream), placement);
    if (choice.kind == PageChoice::Kind::none) return {{DriverCode::out_of_memory}, nullptr};
    if (choice.grow != 0) {
      if (!placement.whole && adopt_pages(choice.grow) != 0) continue;
      if (tries-- > 0 && wait_instead(placement, choice)) continue;
      if (!may_get(choice.grow)) return {{DriverCode::out_of_memory}, nullptr};
    }
    if (choice.kind == PageChoice::Kind::stitch) return grow_stitched(placement, choice);
    if (choice.grow != 0) return grow_home(placement, choice);
    return {{}, take_home(placement, choice.at)};
  }
}

// Before anything is built for so many pages: a request may ask for more than any machine has.
bool PageHeap::may_get(std::size_t pages) const {
  return pages <= arena_.missing() && !host_.over_limit(arena_.page_size() * pages);
}

// Where there is no room for more than the request, for the request alone.
DriverResult<Block*> PageHeap::grow_segment(const Placement& placement) {
  const Bytes live{(live_ + claimed_) * kUnit};
  const Bytes wanted = segment_to_get(placement.size, placement.segment_size, arena_.page_size(), live,
                                      arena_.page_size() * pages_ - live);
  DriverResult<Run> run = arena_.add_segment(wanted, pool_);
  if (run.status.code == DriverCode::out_of_memory && wanted > placement.segment_size) {
    run = arena_.add_segment(placement.segment_size, pool_);
  }
  if (!run) return {run.status, nullptr};
  const Units begin = Units{run.value.first} << arena_.page_shift();
  views_.make_room(arena_.end());
  views_.add_common(begin, begin + (Units{run.value.count} << arena_.page_shift()));
  pages_ += run.value.count;
  return {{}, take_home(placement, begin)};
}

// What is free before the gap is taken first, so that nobody else can while the driver works.
DriverResult<Block*> PageHeap::grow_home(const Placement& placement, const PageChoice& choice) {
  const Run run{choice.gap, choice.grow};
  const Units border = Units{run.first} << arena_.page_shift();
  const Units end = border + (Units{run.count} << arena_.page_shift());
  if (choice.at < border) views_.take(placement.stream, choice.at, border);
  claimed_ += border - choice.at;
  const DriverStatus status = map(run);
  claimed_ -= border - choice.at;
  if (!status) {
    if (choice.at < border) give_back(placement.stream, {choice.at, border});
    return {status, nullptr};
  }
  const Units last = choice.at + units(placement.size);
  if (last < end) views_.add_common(last, end);
  return {{}, make_block(placement, arena_.address_of(choice.at))};
}

DriverStatus PageHeap::map(Run run) {
  if (host_.over_limit(arena_.page_size() * run.count)) return {DriverCode::out_of_memory};
  if (const DriverStatus status = arena_.map(run, pool_); !status) return status;
  pages_ += run.count;
  maps_ -= std::min(maps_, placement_->maps_per_page() * run.count);
  views_.make_room(arena_.end());
  return {};
}

// The stream may use the range now, so it can stand as its own.
void PageHeap::give_back(StreamId stream, Piece range) {
  views_.add(range.begin, range.end, stream, host_.clock().note_free(stream, {}));
}

// Pages for the numbers that stood for missing ones; all or nothing.
DriverStatus PageHeap::get_pages(std::size_t count, std::vector<Run>& runs) {
  while (count > 0) {
    const auto gap = arena_.gaps().begin();
    const bool full = gap == arena_.gaps().end();  // the driver had fewer addresses than memory
    const Run run = full ? Run{} : Run{gap->first, std::min(gap->second, count)};
    if (const DriverStatus status = full ? DriverStatus{DriverCode::out_of_memory} : map(run); !status) {
      drop_pages(runs);
      return status;
    }
    claimed_ += run.count * page_units();
    runs.push_back(run);
    count -= run.count;
  }
  return {};
}

// Fresh pages that nobody has used. What the driver does not take back stays as free memory.
void PageHeap::drop_pages(std::vector<Run>& runs) {
  for (const Run run : std::exchange(runs, {})) {
    const std::size_t gone = arena_.unmap(run);
    const Units page = page_units();
    pages_ -= gone;
    claimed_ -= run.count * page;
    if (gone < run.count) views_.add_common((run.first + gone) * page, (run.first + run.count) * page);
  }
}

DriverResult<Block*> PageHeap::grow_stitched(const Placement& placement, const PageChoice& choice) {
  Pieces pieces = pieces_of(choice, views_.view(placement.stream));
  const std::size_t missing = first_missing();
  std::vector<Piece> taken;
  for (const Piece& part : pieces.parts) {
    if (part.begin >> arena_.page_shift() < missing) taken.push_back(part);
  }
  take_parts(placement.stream, taken);
  const Units held = std::accumulate(taken.begin(), taken.end(), Units{0},
                                     [](Units sum, const Piece& part) { return sum + part.end - part.begin; });
  claimed_ += held;
  std::vector<Run> fresh;
  DriverStatus status = get_pages(choice.grow, fresh);
  if (status) {
    const std::vector<Piece> rests = fill_in(pieces, choice.front != 0, missing, fresh);
    const DriverResult<Alias*> alias = alias_for(pieces.pages);
    if (alias) {
      claimed_ -= held + choice.grow * page_units();
      for (const Piece& rest : rests) views_.add_common(rest.begin, rest.end);
      Block* block = make_stitched(placement, choice.front, *alias.value);
      trim_aliases();
      return {{}, block};
    }
    drop_pages(fresh);
  }
  claimed_ -= held;
  for (const Piece& part : taken) give_back(placement.stream, part);
  return status ? without_stitching(placement) : DriverResult<Block*>{status, nullptr};
}

// Puts fresh pages where the pieces name missing ones; `front`: the first piece ends its page. What is left of a fresh
// page that is not used whole.
std::vector<PageHeap::Piece> PageHeap::fill_in(Pieces& pieces, bool front, std::size_t missing,
                                               const std::vector<Run>& fresh) {
  std::vector<std::size_t> pages;
  for (const Run run : fresh) {
    for (std::size_t i = 0; i < run.count; ++i) pages.push_back(run.first + i);
  }
  std::vector<Piece> rests;
  std::size_t next = 0;
  const unsigned shift = arena_.page_shift();
  for (std::size_t i = 0; i < pieces.parts.size(); ++i) {
    if (pieces.pages[i] < missing) continue;
    const Units page = Units{pages[next]} << shift;
    Piece& part = pieces.parts[i];
    const Units size = part.end - part.begin;
    part.begin = i == 0 && front ? page + page_units() - size : page;
    part.end = part.begin + size;
    pieces.pages[i] = static_cast<PageNumber>(pages[next++]);
    if (part.begin > page) rests.push_back({page, part.begin});
    if (part.end < page + page_units()) rests.push_back({part.end, page + page_units()});
  }
  return rests;
}

// One that lies idle, or a new one unless too many wait to be unmapped.
DriverResult<Alias*> PageHeap::alias_for(const PageSequence& pages) {
  if (Alias* idle = arena_.aliases().wake(pages); idle != nullptr) return {{}, idle};
  const PageAliases& aliases = arena_.aliases();
  if (aliases.count() > 4 * kMostAliases) return {{DriverCode::other}, nullptr};
  maps_ += pages.size();
  return arena_.make_alias(pages);
}

// An alias could not be had: a run that is free, or one that grows.
DriverResult<Block*> PageHeap::without_stitching(const Placement& placement) {
  FreeSpace& free = views_.view(placement.stream);
  const Units size = units(placement.size);
  if (const Extent* extent = free.good_fit(size); extent != nullptr) return {{}, take_home(placement, extent->begin)};
  const PageChoice choice = grow_at_gap(free, size, state(size), arena_.page_shift());
  if (choice.kind == PageChoice::Kind::none) return {{DriverCode::out_of_memory}, nullptr};
  return grow_home(placement, choice);
}

// Pages of other pools ------------------------------------------------------------------------------------------------

// From the default pool only: on the pages of another a graph may run, on any stream.
std::size_t PageHeap::adopt_pages(std::size_t count) {
  std::size_t got = 0;
  for (PageHeap* other : arena_.heaps()) {
    if (other != this && other->pool_.id == kDefaultPool) got += other->lend_pages(count, *this);
  }
  return got;
}

// A graph may run on any stream, so only pages on which all work is known complete are lent.
std::size_t PageHeap::lend_pages(std::size_t count, PageHeap& to) {
  to.views_.make_room(arena_.end());
  std::size_t lent = 0;
  for (const Piece run : complete_runs()) {
    for (Units at = run.begin; at < run.end && lent < count; at += page_units(), ++lent) {
      views_.claim(at, at + page_units());
      arena_.give(at >> arena_.page_shift(), to.pool_);
      to.views_.add_common(at, at + page_units());
    }
  }
  pages_ -= lent;
  to.pages_ += lent;
  if (lent != 0) host_.move_reserved(pool_, to.pool_, arena_.page_size() * lent);
  return lent;
}

// Whole free pages that every stream may use. While there is one stream only, nobody has asked how far it is.
std::vector<PageHeap::Piece> PageHeap::complete_runs() {
  if (views_.whole_pages() == 0) return {};
  const std::optional<StreamId> sole = views_.sole();
  if (sole && host_.clock().complete(*sole) < host_.clock().frees(*sole)) {
    (void)host_.record_frees(*sole);  // looks whether it is finished, too
    if (host_.clock().complete(*sole) < host_.clock().frees(*sole)) return {};
  }
  std::vector<Piece> runs;
  Piece joined;
  const auto close = [&] {
    const Units first = (joined.begin + page_units() - 1) / page_units() * page_units();
    const Units last = joined.end / page_units() * page_units();
    if (first < last) runs.push_back({first, last});
  };
  for (const StreamViews::Free& range : views_.all()) {
    if (range.owner && !sole) continue;
    if (range.begin != joined.end) {
      close();
      joined.begin = range.begin;
    }
    joined.end = range.end;
  }
  close();
  return runs;
}

// Waits instead of pages ----------------------------------------------------------------------------------------------

bool PageHeap::wait_for(const Placement& placement) {
  if (!arena_.maps() || !views_.several() || !host_.may_order()) return false;
  const std::size_t grow = pages_if(placement, {}, 0);
  return grow != 0 && wait_for_ranges(placement, grow, 0);
}

// Makes the stream wait for coupled ones where that saves pages: the oldest ranges that save as many as all would, and
// one wait for each stream they are of. True: what the stream may use may have changed.
bool PageHeap::wait_instead(const Placement& placement, const PageChoice& choice) {
  const bool few = host_.heap_options().stream_waits == StreamWaits::few;
  const auto after = static_cast<double>((pages_ + choice.grow) * page_units());
  const Units most = std::max(most_live_, live_ + units(placement.size));
  if (after <= (few ? kFewWaitsSlack : kAllWaitsSlack) * static_cast<double>(most)) return false;
  return wait_for_ranges(placement, choice.grow, few ? kFewWaitsAge : 0);
}

// Makes the stream wait for coupled ones where that saves some of `grow` pages: the oldest ranges that save as many as
// all would, and one wait for each stream they are of.
bool PageHeap::wait_for_ranges(const Placement& placement, std::size_t grow, std::uint64_t age) {
  const auto ranges = views_.waitable(placement.stream, age, kMostWaitable);
  if (ranges.empty()) return false;
  const std::size_t least = pages_if(placement, ranges, ranges.size());
  if (least >= grow) return false;
  std::size_t low = 0;  // saves too little
  std::size_t high = ranges.size();
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (pages_if(placement, ranges, middle) <= least ? high : low) = middle;
  }
  std::map<StreamId, std::uint64_t> youngest;  // the youngest range of a stream covers its older ones
  for (std::size_t i = 0; i < high; ++i) {
    std::uint64_t& number = youngest[*ranges[i].owner];
    number = std::max(number, ranges[i].number);
  }
  // A wait that cannot be had may have seen an event finished at least.
  for (const auto& [stream, number] : youngest) (void)host_.make_wait(placement.stream, stream, number);
  return true;
}

// New pages the request would need if the stream could use the first `count` ranges too; more than there are if it
// could not be served.
std::size_t PageHeap::pages_if(const Placement& placement, const std::vector<StreamViews::Free>& ranges,
                               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) views_.show(placement.stream, ranges[i]);
  const PageChoice choice = choose(views_.view(placement.stream), placement);
  for (std::size_t i = count; i-- > 0;) views_.hide(placement.stream, ranges[i]);
  return choice.kind == PageChoice::Kind::none ? std::numeric_limits<std::size_t>::max() : choice.grow;
}

// Aliases -------------------------------------------------------------------------------------------------------------

// Unmaps those that have been idle longest, once all work on them is known complete; never waits for that.
void PageHeap::trim_aliases() {
  PageAliases& aliases = arena_.aliases();
  const std::size_t most_pages = std::max(kLeastAliasPages, kAliasPagesPerPage * arena_.pages());
  if (aliases.count() <= kMostAliases && aliases.pages() <= most_pages) return;
  std::size_t count = aliases.count();
  std::size_t pages = aliases.pages();
  std::vector<Alias*> victims;
  aliases.for_idle([&](Alias& alias) {
    const bool kept = alias.pool->id != kDefaultPool && alias.pool->use_count > 0;
    if (kept) return true;
    if (host_.clock().complete(alias.stream) < alias.number) {
      if (host_.clock().covered(alias.stream) < alias.number) host_.record_frees(alias.stream);
      return false;
    }
    victims.push_back(&alias);
    pages -= alias.pages.size();
    return --count > kMostAliases / 2 || pages > most_pages / 2;
  });
  for (Alias* alias : victims) aliases.claim(*alias);
  for (Alias* alias : victims) {
    if (!arena_.drop_alias(*alias)) aliases.put_to_sleep(*alias);
  }
}

}  // namespace quarry
