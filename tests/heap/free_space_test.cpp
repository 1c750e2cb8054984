// FreeSpace against the plainest model there is: one flag for each unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <quarry/allocator/heap/free_space.h>

namespace quarry {
namespace {

constexpr unsigned kPageShift = 4;  // a page is 16 units
constexpr Units kPage = Units{1} << kPageShift;
constexpr Units kRoom = 40 * kPage;

struct Range {
  Units begin = 0;
  Units end = 0;
  auto operator<=>(const Range&) const = default;
};

class Model {
 public:
  explicit Model(Units room) : free_(room) {}

  void set(Units begin, Units end, bool free) {
    std::fill(free_.begin() + static_cast<std::ptrdiff_t>(begin), free_.begin() + static_cast<std::ptrdiff_t>(end),
              free);
  }
  bool all(Units begin, Units end, bool free) const {
    for (Units at = begin; at < end; ++at) {
      if (free_[at] != free) return false;
    }
    return true;
  }
  std::vector<Range> extents() const {
    std::vector<Range> found;
    for (Units at = 0; at < free_.size(); ++at) {
      if (!free_[at]) continue;
      if (found.empty() || found.back().end != at) found.push_back({at, at});
      found.back().end = at + 1;
    }
    return found;
  }
  std::set<std::size_t> whole_pages() const {
    std::set<std::size_t> found;
    for (std::size_t page = 0; page < free_.size() / kPage; ++page) {
      if (all(page * kPage, (page + 1) * kPage, true)) found.insert(page);
    }
    return found;
  }

 private:
  std::vector<bool> free_;
};

Range range_of(const Extent* extent) { return extent == nullptr ? Range{} : Range{extent->begin, extent->end}; }

// What a list by length holds, and the same from the extents: the free end (or start) of a page that is not all free
// in its extent's page.
using Holes = std::map<Range, Units>;

Holes listed(const ExtentLists& lists) {
  Holes found;
  for (std::size_t list = lists.used_from(0); list != BitTree::kNone; list = lists.used_from(list + 1)) {
    EXPECT_NE(lists.head(list), nullptr) << "an empty list is said to be used";
    for (const Extent* extent = lists.head(list); extent != nullptr; extent = lists.after(extent)) {
      EXPECT_TRUE(found.emplace(range_of(extent), list).second) << "an extent is in two lists";
    }
  }
  return found;
}

Holes suffixes(const std::vector<Range>& extents) {
  Holes found;
  for (const Range& extent : extents) {
    const Units border = (extent.begin + kPage - 1) / kPage * kPage;
    if (border != extent.begin && border <= extent.end) found.emplace(extent, border - extent.begin);
  }
  return found;
}

Holes prefixes(const std::vector<Range>& extents) {
  Holes found;
  for (const Range& extent : extents) {
    const Units border = extent.end / kPage * kPage;
    if (border != extent.end && border >= extent.begin) found.emplace(extent, extent.end - border);
  }
  return found;
}

void expect_pages(const FreeSpace& space, const Model& model, Units room) {
  const std::set<std::size_t> pages = model.whole_pages();
  EXPECT_EQ(space.whole_pages(), pages.size());
  for (std::size_t page = 0; page <= room / kPage + 1; ++page) {
    const auto next = pages.lower_bound(page);
    EXPECT_EQ(space.whole_page_from(page), next == pages.end() ? BitTree::kNone : *next) << page;
  }
}

void expect_places(const FreeSpace& space, const std::vector<Range>& extents, Units room) {
  for (Units at = 0; at <= room; ++at) {
    const auto in = std::ranges::find_if(extents, [&](const Range& r) { return r.begin <= at && at < r.end; });
    EXPECT_EQ(range_of(space.containing(at)), in == extents.end() ? Range{} : *in) << at;
    const auto ends = std::ranges::find(extents, at, &Range::end);
    EXPECT_EQ(range_of(space.ending_at(at)), ends == extents.end() ? Range{} : *ends) << at;
  }
}

void expect_fits(const FreeSpace& space, const std::vector<Range>& extents, Units size) {
  const auto fits = [&](const Range& r) { return r.end - r.begin >= size; };
  const Extent* fit = space.good_fit(size);
  ASSERT_EQ(fit != nullptr, std::ranges::any_of(extents, fits)) << size;
  std::set<Range> visited;
  space.for_fits(size, 1000, [&](const Extent* extent) {
    EXPECT_GE(extent->size(), size);
    EXPECT_TRUE(visited.insert(range_of(extent)).second) << "visited twice";
    return true;
  });
  EXPECT_EQ(visited.size(), static_cast<std::size_t>(std::ranges::count_if(extents, fits)));
  if (fit == nullptr) return;
  EXPECT_TRUE(std::ranges::count(extents, range_of(fit)) == 1 && fit->size() >= size);
  Units best = kRoom;
  for (const Range& extent : extents) {
    if (fits(extent)) best = std::min(best, extent.end - extent.begin);
  }
  // Sizes below 64 units have a class of their own; above it a class is at most one part in 64 wide.
  EXPECT_LE(fit->size(), best < 64 ? best : best + best / 64);
}

void expect_same(const FreeSpace& space, const Model& model, Units room = kRoom) {
  ASSERT_EQ(space.validate(), "");
  const std::vector<Range> extents = model.extents();
  std::vector<Range> seen;
  space.for_each([&](const Extent& extent) { seen.push_back(range_of(&extent)); });
  ASSERT_EQ(seen, extents);
  EXPECT_EQ(space.extents(), extents.size());
  Units units = 0;
  Units largest = 0;
  for (const Range& extent : extents) {
    units += extent.end - extent.begin;
    largest = std::max(largest, extent.end - extent.begin);
  }
  EXPECT_EQ(space.free_units(), units);
  EXPECT_EQ(space.largest(), largest);
  EXPECT_EQ(listed(space.suffix_holes()), suffixes(extents));
  EXPECT_EQ(listed(space.prefix_holes()), prefixes(extents));
  expect_pages(space, model, room);
  expect_places(space, extents, room);
  for (const Units size : {Units{1}, Units{3}, kPage, 2 * kPage + 5, Units{100}, kRoom}) {
    expect_fits(space, extents, size);
  }
}

TEST(FreeSpace, AnswersAsAFlagForEachUnitDoes) {
  FreeSpace space(kPageShift);
  Model model(kRoom);
  space.make_room(kRoom);
  std::mt19937_64 random(11);
  for (int round = 0; round < 1500; ++round) {
    const Units begin = random() % kRoom;
    const Units longest = random() % 8 == 0 ? kRoom : 3 * kPage;
    const Units end = std::min(kRoom, begin + 1 + random() % longest);
    const auto action = random() % 3;
    if (action == 0 && model.all(begin, end, false)) {
      space.add(begin, end);
      model.set(begin, end, true);
    } else if (action == 1 && model.all(begin, end, true)) {
      space.remove(begin, end);
      model.set(begin, end, false);
    } else if (action == 2) {
      space.remove_any(begin, end);
      model.set(begin, end, false);
    } else {
      continue;
    }
    expect_same(space, model);
    if (HasFailure()) return;
  }
}

TEST(FreeSpace, ANeighbourOnEitherSideIsMerged) {
  FreeSpace space(kPageShift);
  Model model(kRoom);
  space.make_room(kRoom);
  const auto add = [&](Units begin, Units end) {
    space.add(begin, end);
    model.set(begin, end, true);
    expect_same(space, model);
  };
  add(5, 10);
  add(20, kPage * 3);
  add(10, 12);  // after a free one
  add(19, 20);  // before one
  add(12, 19);  // between two
  EXPECT_EQ(space.extents(), 1u);
}

TEST(FreeSpace, CuttingLeavesWhatLiesBeforeAndAfter) {
  FreeSpace space(kPageShift);
  Model model(kRoom);
  space.make_room(kRoom);
  space.add(3, 5 * kPage);
  model.set(3, 5 * kPage, true);
  space.cut(space.containing(3), 2 * kPage + 1, 2 * kPage + 2);
  model.set(2 * kPage + 1, 2 * kPage + 2, false);
  expect_same(space, model);
  EXPECT_EQ(space.extents(), 2u);
  EXPECT_EQ(space.whole_pages(), 3u);
}

TEST(FreeSpace, RoomGrowsWithoutChangingWhatIsThere) {
  FreeSpace space(kPageShift);
  EXPECT_EQ(space.containing(0), nullptr);
  EXPECT_EQ(space.ending_at(1), nullptr);
  EXPECT_EQ(space.good_fit(1), nullptr);
  EXPECT_EQ(space.largest(), 0u);
  EXPECT_EQ(space.whole_page_from(0), BitTree::kNone);
  Model model(kRoom);
  for (Units room = kPage; room <= kRoom; room += 7 * kPage) {
    space.make_room(room);
    space.add(room - kPage, room);
    model.set(room - kPage, room, true);
    expect_same(space, model, room);
  }
}

// Small extents in front of a large one must not hide it, however many there are.
TEST(FreeSpace, ManySmallerOnesDoNotHideTheFit) {
  constexpr Units kBig = 4096;
  FreeSpace space(kPageShift);
  space.make_room(1024 * kBig);
  constexpr Units kWanted = 1000;  // its class holds 1000 to 1007
  for (Units i = 0; i < 500; ++i) space.add(i * kBig, i * kBig + kWanted);
  space.add(600 * kBig, 600 * kBig + 2000);
  ASSERT_NE(space.good_fit(kWanted + 3), nullptr);
  EXPECT_EQ(space.good_fit(kWanted + 3)->begin, 600 * kBig);
  int visits = 0;
  space.for_fits(kWanted + 3, 16, [&](const Extent* extent) {
    EXPECT_EQ(extent->begin, 600 * kBig);
    ++visits;
    return true;
  });
  EXPECT_EQ(visits, 1);
}

TEST(FreeSpace, AVisitOfFitsEndsWhenToldTo) {
  FreeSpace space(kPageShift);
  space.make_room(kRoom);
  for (Units i = 0; i < 10; ++i) space.add(i * kPage, i * kPage + 3);
  const auto visits = [&](int most, bool go_on) {
    int count = 0;
    space.for_fits(2, most, [&](const Extent*) {
      ++count;
      return go_on;
    });
    return count;
  };
  EXPECT_EQ(visits(4, true), 4);
  EXPECT_EQ(visits(16, true), 10);
  EXPECT_EQ(visits(16, false), 1);
}

}  // namespace
}  // namespace quarry
