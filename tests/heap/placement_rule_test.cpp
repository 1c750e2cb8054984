// TightPlacement against the value rule written out the plain way (reference/fragmentation.md section 4), over small
// random free spaces in which every candidate is looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <quarry/allocator/heap/placement_tight.h>

namespace quarry {
namespace {

constexpr unsigned kShift = 4;
constexpr Units kPage = Units{1} << kShift;
constexpr std::size_t kPages = 24;
constexpr double kNone = std::numeric_limits<double>::infinity();

struct Range {
  Units begin = 0;
  Units end = 0;
  Units size() const { return end - begin; }
};

Units floor_page(Units at) { return at / kPage * kPage; }
Units ceil_page(Units at) { return floor_page(at + kPage - 1); }
double part(Units n) { return static_cast<double>(n) / static_cast<double>(kPage); }
double edge(Units n) { return 0.95 * std::pow(part(n), 1.1); }
double middle(Units n) { return 0.5 * part(n) * part(n); }

double value(Units begin, Units end) {
  const Units first = ceil_page(begin);
  const Units last = floor_page(end);
  if (first > last) return middle(end - begin);
  return static_cast<double>((last - first) / kPage) + edge(first - begin) + edge(end - last);
}

// The cheapest offer, by the words of the rule.
class Rule {
 public:
  Rule(std::vector<Range> extents, Units size, std::size_t pages, Units most)
      : extents_(std::move(extents)), size_(size), pages_(pages), most_(most) {
    for (const Range& extent : extents_) {
      free_ += extent.size();
      const Units first = ceil_page(extent.begin);
      const Units last = floor_page(extent.end);
      if (first <= last) {
        whole_ += (last - first) / kPage;
        if (first != extent.begin) suffixes_.push_back(first - extent.begin);
        if (last != extent.end) prefixes_.push_back(extent.end - last);
      }
    }
    std::ranges::sort(suffixes_);
    std::ranges::sort(prefixes_);
  }

  double best() {
    bool hit = offer_homes();
    if (!hit) offer_growth();
    const auto held = static_cast<double>(pages_ * kPage);
    const bool calm = held <= 1.002 * static_cast<double>(most_);
    per_map_ = hit ? (calm ? 0.02 : 0.01) : 0;
    if (hit ? static_cast<double>(free_) < 0.5 * held : size_ >= kPage) offer_stitches();
    return best_;
  }

 private:
  void offer(double cost) { best_ = std::min(best_, cost); }
  double ends(Units at) const { return 0.003 * ((at % kPage != 0) + ((at + size_) % kPage != 0)); }

  bool offer_homes() {
    const bool exact = std::ranges::any_of(extents_, [&](const Range& e) { return e.size() == size_; });
    bool hit = false;
    for (const Range& extent : extents_) {
      if (extent.size() < size_) continue;
      const Units suffix = ceil_page(extent.begin) <= extent.end ? ceil_page(extent.begin) - extent.begin : 0;
      const Units prefix = floor_page(extent.end) >= extent.begin ? extent.end - floor_page(extent.end) : 0;
      const bool hole = size_ < kPage && (suffix >= size_ || prefix >= size_);
      if (exact && extent.size() != size_ && !hole) continue;  // the search by size has stopped before it
      hit = true;
      offer_home(extent, extent.begin);
      offer_home(extent, extent.end - size_);
      if (size_ < kPage) continue;
      offer_home(extent, ceil_page(extent.begin));
      if (floor_page(extent.end) >= size_) offer_home(extent, floor_page(extent.end) - size_);
    }
    return hit;
  }
  void offer_home(const Range& extent, Units at) {
    if (at < extent.begin || at + size_ > extent.end) return;
    offer(value(extent.begin, extent.end) - value(extent.begin, at) - value(at + size_, extent.end) + ends(at));
  }
  void offer_growth() {
    const Units border = kPages * kPage;
    Units at = border;
    if (!extents_.empty() && extents_.back().end == border) at = extents_.back().begin;
    const Units grow = (size_ - (border - at) + kPage - 1) / kPage;
    const Units end = border + grow * kPage;
    offer(value(at, end) - value(at + size_, end) + ends(at) + 8 * static_cast<double>(grow));
  }

  static Units smallest(const std::vector<Units>& holes, Units least) {
    const auto found = std::ranges::lower_bound(holes, least);
    return found == holes.end() ? 0 : *found;
  }
  void offer_stitches() {
    const Units rest = size_ % kPage;
    if (size_ >= kPage) stitch(0, 0, rest, 0);
    if (size_ >= kPage && rest > 0) {
      if (const Units hole = smallest(prefixes_, rest)) stitch(0, 0, rest, hole);
      if (const Units hole = smallest(suffixes_, rest)) stitch(rest, hole, 0, 0);
    }
    for (const Units both : {rest, rest + kPage}) {
      if (both == 0 || both > size_) continue;
      for (const Units hole : suffixes_) {
        if (hole >= both || both - hole >= kPage) continue;
        stitch(hole, hole, both - hole, 0);
        if (const Units other = smallest(prefixes_, both - hole)) stitch(hole, hole, both - hole, other);
      }
      for (const Units hole : prefixes_) {
        if (hole >= both || both - hole >= kPage) continue;
        stitch(both - hole, 0, hole, hole);
        if (const Units other = smallest(suffixes_, both - hole)) stitch(both - hole, other, hole, hole);
      }
    }
  }
  // `x` ends a first page whose free end is `x_hole` long (0: a fresh page), `y` begins a last one.
  void stitch(Units x, Units x_hole, Units y, Units y_hole) {
    const Units stranded = (x_hole != 0 ? x_hole - x : 0) + (y_hole != 0 ? y_hole - y : 0);
    if (size_<kPage&& static_cast<double>(stranded)> 0.1 * static_cast<double>(size_)) return;
    const Units whole = (size_ - x - y) / kPage;
    Units need = whole;
    double cost = static_cast<double>(whole);
    double maps = static_cast<double>(whole);
    for (const auto& [used, hole] : {Range{x, x_hole}, Range{y, y_hole}}) {
      if (used == 0) continue;
      cost += 0.003;
      maps += 1;
      if (hole == 0) {
        ++need;
        cost += 1 - edge(kPage - used);
      } else {
        cost += edge(hole) - middle(hole - used);
      }
    }
    const auto grow = static_cast<double>(need > whole_ ? need - whole_ : 0);
    offer(cost + 8 * grow + per_map_ * maps);
  }

  std::vector<Range> extents_;
  Units size_;
  std::size_t pages_;
  Units most_;
  Units free_ = 0;
  Units whole_ = 0;
  std::vector<Units> suffixes_;  // lengths, ascending
  std::vector<Units> prefixes_;
  double per_map_ = 0;
  double best_ = kNone;
};

// At most 12 extents, no two of one size: then no candidate is left out, and none depends on the order of a list.
std::vector<Range> some_extents(std::mt19937_64& random) {
  std::vector<Range> extents;
  std::vector<Units> sizes;
  Units at = random() % kPage;
  const std::size_t most = random() % 13;
  while (extents.size() < most) {
    Units size = 1 + random() % (random() % 4 == 0 ? 4 * kPage - 1 : kPage);
    if (random() % 3 == 0) at = ceil_page(at);  // page starts and ends come often
    if (random() % 3 == 0) size = ceil_page(at + size) - at;
    if (at + size > kPages * kPage) break;
    if (size < 64 && std::ranges::find(sizes, size) == sizes.end()) {
      sizes.push_back(size);
      extents.push_back({at, at + size});
    }
    at += size + 1 + random() % kPage;
  }
  return extents;
}

TEST(TightPlacementRule, TakesTheCheapestOfAllOffers) {
  std::mt19937_64 random(5);
  const std::map<std::size_t, std::size_t> gaps{{kPages, 1000}};
  const TightPlacement placement(kShift);
  int stitched = 0;
  int grown = 0;
  for (int round = 0; round < 20'000; ++round) {
    FreeSpace free(kShift);
    free.make_room(kPages * kPage);
    const std::vector<Range> extents = some_extents(random);
    for (const Range& extent : extents) free.add(extent.begin, extent.end);
    const Units size = 1 + random() % (round % 2 == 0 ? kPage : 5 * kPage);
    const PageState state{kPages, random() % 2 == 0 ? kPages * kPage : kPages * kPage / 2, &gaps};
    const PageChoice choice = placement.choose(free, size, state);
    ASSERT_NE(choice.kind, PageChoice::Kind::none);
    ASSERT_NEAR(choice.cost, Rule(extents, size, state.pages, state.most_live).best(), 1e-9) << "round " << round;
    stitched += choice.kind == PageChoice::Kind::stitch ? 1 : 0;
    grown += choice.kind == PageChoice::Kind::home && choice.grow != 0 ? 1 : 0;
  }
  EXPECT_GT(stitched, 1000);
  EXPECT_GT(grown, 1000);
}

}  // namespace
}  // namespace quarry
