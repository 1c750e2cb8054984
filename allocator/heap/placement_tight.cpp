#include <quarry/allocator/heap/placement_tight.h>

#include <cmath>

namespace quarry {
namespace {

constexpr double kSharedEnd = 0.003;    // for a block end inside a page: it will keep that page
constexpr double kNewPage = 8;          // growing costs more than anything free
constexpr double kMapped = 0.01;        // for each page mapped although something else would fit
constexpr double kMappedInCalm = 0.02;  // the same while the heap is as small as it can be
constexpr double kCalm = 1.002;         // of the most that was live
constexpr double kRoomy = 0.5;          // free part of the heap from which on a fit is always good enough
constexpr double kStranded = 0.1;       // of the request: more may not be cut off behind a block below a page
constexpr double kSpare = 1.02;         // of the most that was live: pages got only to save maps stay below it
constexpr int kCandidates = 16;

// One search. The members are its inputs, `best` its answer so far.
class Search {
 public:
  Search(const FreeSpace& free, const PageWorth& worth, Units size, const PageState& state, unsigned page_shift,
         std::size_t maps_per_page)
      : free_(free),
        worth_(worth),
        maps_per_page_(maps_per_page),
        size_(size),
        page_(Units{1} << page_shift),
        page_shift_(page_shift),
        state_(state) {}

  PageChoice run();

 private:
  void offer_fits();
  void offer_holes();
  void offer_extent(Extent* extent);
  void offer_home(Extent* extent, Units at);
  void offer_growth();
  bool spares(std::size_t pages) const;
  void offer_stitches();
  void offer_split(Units ends);
  void offer_stitch(Units front, Extent* front_hole, Units back, Extent* back_hole);
  double shared_ends(Units at) const;
  Extent* suffix_at_least(Units length) const { return first(free_.suffix_holes(), length); }
  Extent* prefix_at_least(Units length) const { return first(free_.prefix_holes(), length); }
  static Extent* first(const ExtentLists& holes, Units length) {
    const std::size_t list = holes.used_from(length);
    return list == BitTree::kNone ? nullptr : holes.head(list);
  }
  template <class Visit>
  static void for_largest(const ExtentLists& holes, Visit&& visit);

  const FreeSpace& free_;
  const PageWorth& worth_;
  std::size_t maps_per_page_;
  Units size_;
  Units page_;
  unsigned page_shift_;
  const PageState& state_;
  bool hit_ = false;
  double per_map_ = 0;
  PageChoice best_;
};

// Up to kCandidates distinct extents, the longest holes first, with the length of the hole.
template <class Visit>
void Search::for_largest(const ExtentLists& holes, Visit&& visit) {
  int left = kCandidates;
  for (std::size_t list = holes.used_up_to(holes.size() - 1); list != BitTree::kNone && left > 0;) {
    for (Extent* extent = holes.head(list); extent != nullptr && left > 0; extent = holes.after(extent), --left) {
      visit(extent, static_cast<Units>(list));
    }
    if (list == 0) break;
    list = holes.used_up_to(list - 1);
  }
}

double Search::shared_ends(Units at) const {
  const Units inside = page_ - 1;
  return kSharedEnd * static_cast<double>(((at & inside) != 0) + (((at + size_) & inside) != 0));
}

void Search::offer_home(Extent* extent, Units at) {
  const double cost = worth_.of(extent->begin, extent->end) - worth_.of(extent->begin, at) -
                      worth_.of(at + size_, extent->end) + shared_ends(at);
  if (hit_ && cost >= best_.cost) return;
  hit_ = true;
  best_.kind = PageChoice::Kind::home;
  best_.cost = cost;
  best_.at = at;
  best_.extent = extent;
}

void Search::offer_extent(Extent* extent) {
  const Units low = extent->begin;
  const Units high = extent->end - size_;
  offer_home(extent, low);
  if (high == low) return;
  offer_home(extent, high);
  if (size_ < page_) return;
  const Units first = free_.ceil_page(low);
  if (first != low && first <= high) offer_home(extent, first);
  const Units last = free_.floor_page(extent->end);
  if (last != extent->end && last >= low + size_) offer_home(extent, last - size_);
}

void Search::offer_fits() {
  free_.for_fits(size_, kCandidates, [&](Extent* extent) {
    offer_extent(extent);
    return extent->size() != size_;
  });
}

// Below a page the free ends of pages are worth a look of their own: they are few among many small extents.
void Search::offer_holes() {
  for (const ExtentLists* holes : {&free_.suffix_holes(), &free_.prefix_holes()}) {
    int left = kCandidates;
    for (std::size_t list = holes->used_from(size_); list != BitTree::kNone && left > 0;
         list = holes->used_from(list + 1)) {
      for (Extent* extent = holes->head(list); extent != nullptr && left > 0; extent = holes->after(extent), --left) {
        offer_extent(extent);
      }
    }
  }
}

bool Search::spares(std::size_t pages) const {
  const auto held = static_cast<double>((state_.pages + pages) << page_shift_);
  return held <= kSpare * static_cast<double>(state_.most_live);
}

void Search::offer_growth() {
  PageChoice grown = grow_at_gap(free_, size_, state_, page_shift_);
  if (grown.kind == PageChoice::Kind::none) return;
  const Units before = grown.extent != nullptr ? grown.extent->begin : grown.at;
  const Units border = Units{grown.gap} << page_shift_;
  const Units end = border + (Units{grown.grow} << page_shift_);
  const bool due = state_.maps >= maps_per_page_ * grown.grow && spares(grown.grow);
  grown.cost = worth_.of(before, end) - worth_.of(grown.at + size_, end) + shared_ends(grown.at) +
               (due ? 0 : kNewPage * static_cast<double>(grown.grow));
  best_ = grown;
}

// `front` units end the first page, `back` units begin the last one; whole pages are between.
void Search::offer_stitch(Units front, Extent* front_hole, Units back, Extent* back_hole) {
  const Units front_length = front_hole != nullptr ? free_.ceil_page(front_hole->begin) - front_hole->begin : 0;
  const Units back_length = back_hole != nullptr ? back_hole->end - free_.floor_page(back_hole->end) : 0;
  if (size_ < page_) {
    const Units rest =
        (front_hole != nullptr ? front_length - front : 0) + (back_hole != nullptr ? back_length - back : 0);
    if (static_cast<double>(rest) > kStranded * static_cast<double>(size_)) return;
  }
  const auto whole = static_cast<std::size_t>((size_ - front - back) >> page_shift_);
  std::size_t need = whole;
  std::size_t maps = whole;
  double cost = static_cast<double>(whole);
  const auto end = [&](Units used, const Extent* hole, Units length) {
    if (used == 0) return;
    ++maps;
    cost += kSharedEnd;
    if (hole == nullptr) {
      ++need;
      cost += 1 - worth_.edge(page_ - used);
    } else {
      cost += worth_.edge(length) - worth_.middle(length - used);
    }
  };
  end(front, front_hole, front_length);
  end(back, back_hole, back_length);
  const std::size_t grow = need > free_.whole_pages() ? need - free_.whole_pages() : 0;
  cost += kNewPage * static_cast<double>(grow) + per_map_ * static_cast<double>(maps);
  if (best_.kind != PageChoice::Kind::none && cost >= best_.cost) return;
  best_ = {PageChoice::Kind::stitch, cost, grow, 0, nullptr, 0, front, back, whole, front_hole, back_hole};
}

// The two ends together take `ends` units, each less than a page.
void Search::offer_split(Units ends) {
  for_largest(free_.suffix_holes(), [&](Extent* hole, Units length) {
    if (length >= ends || ends - length >= page_) return;
    offer_stitch(length, hole, ends - length, nullptr);
    if (Extent* other = prefix_at_least(ends - length)) offer_stitch(length, hole, ends - length, other);
  });
  for_largest(free_.prefix_holes(), [&](Extent* hole, Units length) {
    if (length >= ends || ends - length >= page_) return;
    offer_stitch(ends - length, nullptr, length, hole);
    if (Extent* other = suffix_at_least(ends - length)) offer_stitch(ends - length, other, length, hole);
  });
}

void Search::offer_stitches() {
  const Units rest = size_ & (page_ - 1);
  if (size_ >= page_) {
    offer_stitch(0, nullptr, rest, nullptr);
    if (rest != 0) {
      if (Extent* hole = prefix_at_least(rest)) offer_stitch(0, nullptr, rest, hole);
      if (Extent* hole = suffix_at_least(rest)) offer_stitch(rest, hole, 0, nullptr);
    }
  }
  if (rest != 0) offer_split(rest);
  if (rest + page_ <= size_) offer_split(rest + page_);
}

PageChoice Search::run() {
  offer_fits();
  if (size_ < page_) offer_holes();
  if (state_.gaps == nullptr) return best_;
  if (!hit_) offer_growth();
  const auto pages = static_cast<double>(state_.pages);
  const auto page = static_cast<double>(page_);
  const bool calm = pages * page <= kCalm * static_cast<double>(state_.most_live);
  per_map_ = hit_ ? (calm ? kMappedInCalm : kMapped) : 0;
  const bool tight = static_cast<double>(free_.free_units()) < kRoomy * pages * page;
  if (hit_ ? tight : size_ >= page_) offer_stitches();
  return best_;
}

}  // namespace

PageWorth::PageWorth(unsigned page_shift) : page_shift_(page_shift), page_(Units{1} << page_shift) {
  for (Units length = 0; length <= page_; ++length) {
    const double part = static_cast<double>(length) / static_cast<double>(page_);
    edge_.push_back(0.95 * std::pow(part, 1.1));
    middle_.push_back(0.5 * part * part);
  }
}

PageChoice TightPlacement::choose(const FreeSpace& free, Units size, const PageState& state) const {
  return Search(free, worth_, size, state, page_shift_, maps_per_page()).run();
}

}  // namespace quarry
