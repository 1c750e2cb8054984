// StreamViews against the plainest model there is: for each unit, who used it last and which of his frees it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <quarry/allocator/heap/stream_views.h>

namespace quarry {
namespace {

constexpr unsigned kPageShift = 3;
constexpr Units kPage = Units{1} << kPageShift;
constexpr Units kRoom = 24 * kPage;

struct Unit {
  bool free = false;
  std::optional<StreamId> owner = std::nullopt;  // empty: common
  std::uint64_t number = 0;
  std::uint64_t freed_at = 0;
};

struct Range {
  Units begin = 0;
  Units end = 0;
  auto operator<=>(const Range&) const = default;
};

class Model {
 public:
  explicit Model(const StreamClock& clock) : clock_(clock), units_(kRoom) {}

  // The first stream that is seen owns what is free until there is a second one.
  void see(StreamId stream) {
    const bool first = seen_.empty();
    if (first) first_ = stream;
    if (!seen_.insert(stream).second || first || several_) return;
    several_ = true;
    for (Unit& unit : units_) {
      if (unit.free) unit = {true, first_, clock_.frees(first_), requests};
    }
    settle();
  }
  void add(Units begin, Units end, std::optional<StreamId> owner, std::uint64_t number) {
    if (owner) see(*owner);
    for (Units at = begin; at < end; ++at) units_[at] = {true, owner, number, requests};
    settle();
  }
  void take(Units begin, Units end) {
    std::fill(units_.begin() + static_cast<std::ptrdiff_t>(begin), units_.begin() + static_cast<std::ptrdiff_t>(end),
              Unit{});
  }
  // What the host has seen complete is common.
  void settle() {
    if (!several_) return;
    for (Unit& unit : units_) {
      if (unit.owner && clock_.complete(*unit.owner) >= unit.number) unit.owner.reset();
    }
  }
  bool usable(const Unit& unit, StreamId viewer) const {
    if (!unit.free) return false;
    if (!several_ || !unit.owner || *unit.owner == viewer) return true;
    return clock_.synced(viewer, *unit.owner) >= unit.number;
  }
  bool usable(Units begin, Units end, StreamId viewer) const {
    for (Units at = begin; at < end; ++at) {
      if (!usable(units_[at], viewer)) return false;
    }
    return true;
  }
  bool taken(Units begin, Units end) const {
    for (Units at = begin; at < end; ++at) {
      if (units_[at].free) return false;
    }
    return true;
  }
  std::vector<Range> view(StreamId viewer) const {
    return runs([&](Units at) { return usable(units_[at], viewer); });
  }
  template <class Takes>
  std::vector<Range> runs(Takes&& takes) const {
    std::vector<Range> found;
    for (Units at = 0; at < kRoom; ++at) {
      if (!takes(at)) continue;
      if (found.empty() || found.back().end != at) found.push_back({at, at});
      found.back().end = at + 1;
    }
    return found;
  }
  const Unit& at(Units place) const { return units_[place]; }
  bool several() const { return several_; }

  std::uint64_t requests = 0;

 private:
  const StreamClock& clock_;
  std::vector<Unit> units_;
  std::set<StreamId> seen_;
  bool several_ = false;
  StreamId first_ = kDefaultStream;
};

// Views, model and clock side by side, and the moves of a space.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed) { views_.make_room(kRoom); }

  void step() {
    switch (random_() % 10) {
      case 0:
      case 1:
      case 2:
        return take();
      case 3:
      case 4:
      case 5:
        return give_back();
      case 6:
        return complete();
      case 7:
        return wait();
      case 8:
        return claim();
      default:
        return random_() % 30 == 0 ? retire() : try_a_wait();
    }
  }

  // The first difference, or an empty string.
  std::string difference() {
    if (std::string broken = views_.validate(); !broken.empty()) return broken;
    if (views_.several() != model_.several()) return "one stream, or several";
    for (const StreamId stream : open_) {
      if (!asked_.contains(stream)) continue;
      std::vector<Range> seen;
      views_.view(stream).for_each([&](const Extent& extent) { seen.push_back({extent.begin, extent.end}); });
      if (seen != model_.view(stream)) return "the view of stream " + std::to_string(static_cast<unsigned>(stream));
      if (std::string wrong = wrong_waitable(stream); !wrong.empty()) return wrong;
    }
    return wrong_records();
  }

 private:
  static StreamId id(std::uint64_t n) { return static_cast<StreamId>(n); }
  StreamId some_stream() { return open_[random_() % open_.size()]; }
  Range some_range() {
    const Units begin = random_() % kRoom;
    return {begin, std::min(kRoom, begin + 1 + random_() % (2 * kPage))};
  }

  void take() {
    const StreamId stream = some_stream();
    views_.view(stream);
    asked_.insert(stream);
    model_.see(stream);
    views_.count_request();
    ++model_.requests;
    for (int tries = 0; tries < 10; ++tries) {
      const Range range = some_range();
      if (!model_.usable(range.begin, range.end, stream)) continue;
      views_.take(stream, range.begin, range.end);
      model_.take(range.begin, range.end);
      return;
    }
  }
  void give_back() {
    const Range range = some_range();
    if (!model_.taken(range.begin, range.end)) return;
    for (const StreamViews::Free& part : claimed_) {
      if (part.begin < range.end && range.begin < part.end) return;
    }
    if (random_() % 5 == 0) {
      views_.add_common(range.begin, range.end);
      model_.add(range.begin, range.end, std::nullopt, 0);
      return;
    }
    const StreamId stream = some_stream();
    const std::uint64_t number = clock_.note_free(stream, {});
    views_.add(range.begin, range.end, stream, number);
    asked_.insert(stream);
    model_.add(range.begin, range.end, stream, number);
  }
  void complete() {
    const StreamId stream = some_stream();
    if (clock_.frees(stream) == 0) return;
    clock_.set_complete(stream, 1 + random_() % clock_.frees(stream));
    views_.completed(stream);
    model_.settle();
  }
  void wait() {
    const StreamId waiter = some_stream();
    const StreamId on = some_stream();
    if (waiter == on || clock_.frees(on) == 0) return;
    clock_.couple(waiter, on);
    const std::uint64_t before = clock_.synced(waiter, on);
    clock_.set_synced(waiter, on, 1 + random_() % clock_.frees(on));
    views_.synchronized(waiter, on, before);
  }
  // As a driver that refuses makes the heap do: out, then the same back, with frees and waits between.
  void claim() {
    if (!claimed_.empty()) {
      views_.put_back(claimed_);
      for (const StreamViews::Free& part : claimed_) {
        model_.add(part.begin, part.end, part.owner,
                   part.number != 0 || !part.owner ? part.number : clock_.frees(*part.owner));
      }
      claimed_.clear();
      return;
    }
    const Units begin = random_() % kRoom;
    const Units end = std::min(kRoom, begin + 6 * kPage);
    claimed_ = views_.claim(begin, end);
    model_.take(begin, end);
  }
  void retire() {
    const StreamId stream = some_stream();
    clock_.set_complete(stream, clock_.frees(stream));
    views_.completed(stream);
    clock_.close(stream);
    views_.forget(stream);
    model_.settle();
    std::erase(open_, stream);
    open_.push_back(id(next_++));
  }
  // Showing and hiding leave everything as it was.
  void try_a_wait() {
    const StreamId stream = some_stream();
    if (!asked_.contains(stream)) return;
    const auto ranges = views_.waitable(stream, 0, 100);
    for (const StreamViews::Free& range : ranges) views_.show(stream, range);
    for (std::size_t i = ranges.size(); i-- > 0;) views_.hide(stream, ranges[i]);
  }

  std::string wrong_waitable(StreamId viewer) {
    const std::uint64_t age = random_() % 20;
    const auto wanted = [&](Units at) {
      const Unit& unit = model_.at(at);
      return unit.free && unit.owner && !model_.usable(unit, viewer) && model_.requests - unit.freed_at >= age &&
             clock_.coupled(viewer, *unit.owner);
    };
    std::vector<bool> found(kRoom);
    std::uint64_t last = 0;
    for (const StreamViews::Free& range : views_.waitable(viewer, age, kRoom)) {
      if (range.freed_at < last) return "waitable ranges are not in the order of their frees";
      last = range.freed_at;
      for (Units at = range.begin; at < range.end; ++at) {
        if (found[at] || model_.at(at).owner != range.owner || model_.at(at).number != range.number) {
          return "a waitable range is not as it was freed";
        }
        found[at] = true;
      }
    }
    for (Units at = 0; at < kRoom; ++at) {
      if (found[at] != wanted(at)) return "waitable ranges differ";
    }
    return views_.waitable(viewer, 0, 2).size() > 2 ? "more waitable ranges than asked for" : "";
  }
  std::string wrong_records() const {
    std::vector<bool> found(kRoom);
    Units last = 0;
    for (const StreamViews::Free& range : views_.all()) {
      if (range.begin < last || range.end <= range.begin) return "free ranges overlap";
      last = range.end;
      for (Units at = range.begin; at < range.end; ++at) {
        found[at] = true;
        if (model_.several() && model_.at(at).owner != range.owner) return "a free range has another owner";
      }
    }
    for (Units at = 0; at < kRoom; ++at) {
      if (found[at] != model_.at(at).free) return "free ranges are missing, or too many";
    }
    return {};
  }

  std::mt19937_64 random_;
  StreamClock clock_{true};
  StreamViews views_{clock_, kPageShift};
  Model model_{clock_};
  std::vector<StreamId> open_{id(0), id(1), id(2), id(3)};
  std::uint64_t next_ = 4;
  std::set<StreamId> asked_;
  std::vector<StreamViews::Free> claimed_;
};

class StreamViewsPrograms : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, StreamViewsPrograms, testing::Range(std::uint64_t{1}, std::uint64_t{25}));

TEST_P(StreamViewsPrograms, EachStreamSeesWhatItMayUse) {
  Pair pair(GetParam());
  for (int step = 0; step < 1500; ++step) {
    pair.step();
    ASSERT_EQ(pair.difference(), "") << "after step " << step;
  }
}

}  // namespace
}  // namespace quarry
