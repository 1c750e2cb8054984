#include <quarry/allocator/heap/stream_views.h>

#include <algorithm>
#include <utility>

#include <quarry/allocator/check.h>

namespace quarry {
namespace {

constexpr std::size_t kLooksPerRange = 16;

}  // namespace

bool StreamViews::usable(const Record& record, StreamId viewer) const {
  return !record.owner || *record.owner == viewer || clock_.synced(viewer, *record.owner) >= record.number;
}

FreeSpace& StreamViews::make_view(StreamId stream) {
  const bool first = !several_ && views_.empty();
  if (!first) split_up();
  View& made = views_.emplace_back(View{stream, std::make_unique<FreeSpace>(page_shift_)});
  FreeSpace& fresh = *made.free;
  const auto index = static_cast<std::size_t>(stream);
  if (by_stream_.size() <= index) by_stream_.resize(index + 1);
  by_stream_[index] = &fresh;
  fresh.make_room(room_);
  for (const auto& [begin, record] : records_) {
    if (first || usable(record, stream)) fresh.add(begin, record.end);
  }
  if (first) records_.clear();
  return fresh;
}

// A second stream has come: what is free belongs to the first one, as of now.
void StreamViews::split_up() {
  if (several_) return;
  several_ = true;
  const StreamId sole = views_.front().stream;
  const std::uint64_t number = clock_.frees(sole);
  const bool common = clock_.complete(sole) >= number;
  views_.front().free->for_each([&](const Extent& extent) {
    Record record{extent.end, common ? std::nullopt : std::optional(sole), number, requests_};
    records_.emplace(extent.begin, record);
    if (!common) logs_[sole].push_back({number, extent.begin, extent.end});
  });
}

void StreamViews::make_room(Units end) {
  room_ = std::max(room_, end);
  for (const View& known : views_) known.free->make_room(room_);
}

void StreamViews::add(Units begin, Units end, StreamId owner, std::uint64_t number) {
  if (!several_) {
    FreeSpace& own = view(owner);  // a second stream makes it several
    if (!several_) {
      own.add(begin, end);
      return;
    }
  }
  if (clock_.complete(owner) >= number) {
    add_common(begin, end);
    return;
  }
  insert(begin, {end, owner, number, requests_});
  std::deque<Freed>& freed = logs_[owner];
  freed.insert(std::ranges::upper_bound(freed, number, {}, &Freed::number), {number, begin, end});
  compact(owner);
}

void StreamViews::add_common(Units begin, Units end) {
  if (several_ || views_.empty()) {
    insert(begin, {end, std::nullopt, 0, requests_});
  } else {
    views_.front().free->add(begin, end);
  }
}

// Into the records, and into every view that may use it.
void StreamViews::insert(Units begin, Record record) {
  for (const View& known : views_) {
    if (usable(record, known.stream)) known.free->add(begin, record.end);
  }
  const auto placed = records_.emplace(begin, record).first;
  if (!record.owner) make_common(placed);
}

// Joins a record without owner with its neighbours without owner.
void StreamViews::make_common(Records::iterator record) {
  record->second.owner.reset();
  const auto next = std::next(record);
  if (next != records_.end() && next->first == record->second.end && !next->second.owner) {
    record->second.end = next->second.end;
    records_.erase(next);
  }
  if (record == records_.begin()) return;
  const auto previous = std::prev(record);
  if (previous->second.end == record->first && !previous->second.owner) {
    previous->second.end = record->second.end;
    records_.erase(record);
  }
}

void StreamViews::take_from_others(StreamId viewer, Units begin, Units end) {
  for (const View& known : views_) {
    if (known.stream != viewer) known.free->remove_any(begin, end);
  }
  erase(begin, end);
}

std::vector<StreamViews::Free> StreamViews::claim(Units begin, Units end) {
  std::vector<Free> claimed;
  if (several_ || views_.empty()) {
    split_at(begin);
    split_at(end);
    for (auto at = records_.lower_bound(begin); at != records_.end() && at->first < end; ++at) {
      claimed.push_back(as_free(at->first, at->second));
    }
  } else {
    const FreeSpace& all = *views_.front().free;
    for (Units at = begin; at < end;) {
      const Extent* extent = all.from(at);
      if (extent == nullptr || extent->begin >= end) break;
      const Units last = std::min(end, extent->end);
      claimed.push_back({std::max(at, extent->begin), last, views_.front().stream, 0, 0});
      at = last;
    }
  }
  for (const View& known : views_) known.free->remove_any(begin, end);
  erase(begin, end);
  return claimed;
}

// Ranges that were claimed before there were several streams have no number: they belong to their owner as of now.
void StreamViews::put_back(const std::vector<Free>& claimed) {
  for (const Free& range : claimed) {
    if (!range.owner) {
      add_common(range.begin, range.end);
    } else {
      add(range.begin, range.end, *range.owner, range.number != 0 ? range.number : clock_.frees(*range.owner));
    }
  }
}

void StreamViews::split_at(Units at) {
  auto after = records_.upper_bound(at);
  if (after == records_.begin()) return;
  auto& [begin, record] = *std::prev(after);
  if (begin == at || record.end <= at) return;
  const Record high = record;
  record.end = at;
  records_.emplace_hint(after, at, high);
}

void StreamViews::erase(Units begin, Units end) {
  split_at(begin);
  split_at(end);
  records_.erase(records_.lower_bound(begin), records_.lower_bound(end));
}

// The records that still stand for that free.
template <class Visit>
void StreamViews::visit_freed(StreamId stream, const Freed& freed, Visit&& visit) const {
  auto at = records_.upper_bound(freed.begin);
  if (at != records_.begin()) --at;
  while (at != records_.end() && at->first < freed.end) {
    const auto here = at++;
    const Record& record = here->second;
    if (record.end > freed.begin && record.owner == stream && record.number == freed.number) visit(here);
  }
}

void StreamViews::completed(StreamId stream) {
  const auto found_log = logs_.find(stream);
  if (!several_ || found_log == logs_.end()) return;
  std::deque<Freed>& freed = found_log->second;
  while (!freed.empty() && freed.front().number <= clock_.complete(stream)) {
    std::vector<Units> found;
    visit_freed(stream, freed.front(), [&](Records::const_iterator at) { found.push_back(at->first); });
    for (const Units begin : found) {
      const auto at = records_.find(begin);
      for (const View& known : views_) {
        if (!usable(at->second, known.stream)) known.free->add(at->first, at->second.end);
      }
      make_common(at);
    }
    freed.pop_front();
  }
  if (freed.empty()) logs_.erase(found_log);
}

void StreamViews::synchronized(StreamId waiter, StreamId on, std::uint64_t before) {
  FreeSpace* view = find_view(waiter);
  const auto found_log = logs_.find(on);
  if (!several_ || waiter == on || view == nullptr || found_log == logs_.end()) return;
  const std::uint64_t now = clock_.synced(waiter, on);
  for (const Freed& freed : found_log->second) {
    if (freed.number <= before) continue;
    if (freed.number > now) break;
    visit_freed(on, freed, [&](Records::const_iterator at) {
      const bool seen = view->containing(at->first) != nullptr;  // the log has what was put back twice
      if (!seen) view->add(at->first, at->second.end);
    });
  }
}

// A sole stream keeps its view: there is no other record of what is free.
void StreamViews::forget(StreamId stream) {
  if (!several_ || find_view(stream) == nullptr) return;
  std::erase_if(views_, [&](const View& known) { return known.stream == stream; });
  by_stream_[static_cast<std::size_t>(stream)] = nullptr;
}

// A log may hold ranges that were taken again; this keeps it in proportion to the records.
void StreamViews::compact(StreamId stream) {
  std::deque<Freed>& freed = logs_[stream];
  if (freed.size() < 1024 || freed.size() < 2 * records_.size()) return;
  freed.clear();
  for (const auto& [begin, record] : records_) {
    if (record.owner == stream) freed.push_back({record.number, begin, record.end});
  }
  std::ranges::stable_sort(freed, {}, &Freed::number);
}

// A bounded look at each stream, from its oldest free on that the viewer has not waited for.
std::vector<StreamViews::Free> StreamViews::waitable(StreamId viewer, std::uint64_t age, std::size_t most) const {
  std::vector<Free> found;
  for (const auto& [owner, freed] : logs_) {
    if (owner == viewer || !clock_.coupled(viewer, owner)) continue;
    std::size_t looks = kLooksPerRange * most;  // the log holds frees whose bytes are in use again, too
    auto at = std::ranges::upper_bound(freed, clock_.synced(viewer, owner), {}, &Freed::number);
    for (; at != freed.end() && looks > 0; ++at, --looks) {
      visit_freed(owner, *at, [&](Records::const_iterator record) {
        if (requests_ - record->second.freed_at >= age) found.push_back(as_free(record->first, record->second));
      });
    }
  }
  std::ranges::sort(found, {}, [](const Free& range) { return std::pair(range.freed_at, range.begin); });
  const auto again = std::ranges::unique(found, {}, &Free::begin);  // the log has what was put back twice
  found.erase(again.begin(), again.end());
  if (found.size() > most) found.resize(most);
  return found;
}

Units StreamViews::largest() const {
  Units most = 0;
  for (const View& known : views_) most = std::max(most, known.free->largest());
  return most;
}

std::size_t StreamViews::whole_pages() const {
  std::size_t most = 0;
  for (const View& known : views_) most = std::max(most, known.free->whole_pages());
  return most;
}

std::vector<StreamViews::Free> StreamViews::all() const {
  std::vector<Free> found;
  for (const auto& [begin, record] : records_) found.push_back(as_free(begin, record));
  if (several_ || views_.empty()) return found;
  views_.front().free->for_each([&](const Extent& extent) {
    found.push_back({extent.begin, extent.end, views_.front().stream, 0, 0});
  });
  return found;
}

std::string StreamViews::validate() const {
  for (const View& known : views_) {
    if (std::string broken = known.free->validate(); !broken.empty()) return broken;
    if (!several_) continue;
    Units seen = 0;
    for (const auto& [begin, record] : records_) {
      if (!usable(record, known.stream)) continue;
      seen += record.end - begin;
      const Extent* extent = known.free->containing(begin);
      if (extent == nullptr || extent->end < record.end) return "a stream does not see a range it may use";
    }
    if (seen != known.free->free_units()) return "a stream sees a range it may not use";
  }
  Units last = 0;
  for (const auto& [begin, record] : records_) {
    if (begin < last || record.end <= begin) return "two records of free ranges overlap";
    last = record.end;
  }
  return {};
}

}  // namespace quarry
