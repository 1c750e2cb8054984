// A set of free ranges of an arena, neighbours merged, with every index the placements of the paged policy ask for.
//
// One unit is 512 B. An extent is a maximal free range. It is found by its size (two-level bitmap: 64 classes for each
// power of two, exact below 64 units), by any place in it (a bit for each unit where an extent begins, and a hash from
// there to its record), by the hole it leaves in a partly used page (a suffix hole reaches the end of the page in
// which the extent begins, a prefix hole the start of the page in which it ends; exact lengths), and by its whole pages
// (a bit for each). Every operation costs the same however many extents there are. No lock: the heap's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/heap/bit_tree.h>
#include <quarry/allocator/heap/node_map.h>
#include <quarry/allocator/heap/slab.h>

namespace quarry {

using Units = std::uint64_t;
inline constexpr Units kUnit = 512;  // bytes

struct Extent {
  struct Link {
    Extent* previous;
    Extent* next;
  };
  union {
    Units begin;
    Extent* next;  // in the slab
  };
  Units end;
  Link by_size;
  Link suffix;
  Link prefix;

  Units size() const { return end - begin; }
};
static_assert(sizeof(Extent) <= 64);

// Extents in lists by a small number. The lists are last in, first out.
class ExtentLists {
 public:
  ExtentLists(std::size_t lists, Extent::Link Extent::*link) : heads_(lists), used_(lists), link_(link) {}

  void insert(std::size_t list, Extent* extent) {
    Extent*& head = heads_[list];
    if (head == nullptr) {
      used_.set(list);
    } else {
      (head->*link_).previous = extent;
    }
    extent->*link_ = {nullptr, head};
    head = extent;
  }
  void erase(std::size_t list, Extent* extent) {
    const Extent::Link at = extent->*link_;
    if (at.next != nullptr) (at.next->*link_).previous = at.previous;
    if (at.previous != nullptr) {
      (at.previous->*link_).next = at.next;
    } else {
      heads_[list] = at.next;
      if (at.next == nullptr) used_.clear(list);
    }
  }

  Extent* head(std::size_t list) const { return heads_[list]; }
  Extent* after(const Extent* extent) const { return (extent->*link_).next; }
  std::size_t size() const { return heads_.size(); }
  // The first list from `list` on, or the last up to it, that holds anything; BitTree::kNone if none does.
  std::size_t used_from(std::size_t list) const {
    return list < heads_.size() ? used_.at_or_after(list) : BitTree::kNone;
  }
  std::size_t used_up_to(std::size_t list) const { return used_.at_or_before(list); }

 private:
  std::vector<Extent*> heads_;
  BitTree used_;
  Extent::Link Extent::*link_;
};

class FreeSpace {
 public:
  // A page is 2^page_shift units.
  explicit FreeSpace(unsigned page_shift);
  FreeSpace(const FreeSpace&) = delete;
  FreeSpace& operator=(const FreeSpace&) = delete;

  // Ranges up to `end` may be added.
  void make_room(Units end);
  // Nothing of the range is free yet.
  void add(Units begin, Units end);
  // All of the range is free, so it lies in one extent.
  void remove(Units begin, Units end) { cut(containing(begin), begin, end); }
  // The same, where the extent is known.
  void cut(Extent* extent, Units begin, Units end);
  // Whatever is free in the range.
  void remove_any(Units begin, Units end);

  // The extent `at` lies in; that or the next one; the one that ends there; null if there is none.
  Extent* containing(Units at) const;
  Extent* from(Units at) const;
  Extent* ending_at(Units at) const;
  // Some extent of at least `size`, close to the smallest; null if there is none.
  Extent* good_fit(Units size) const;
  // Up to `most` extents of at least `size`, from the small ones upwards, until `visit(extent)` is false.
  template <class Visit>
  void for_fits(Units size, int most, Visit&& visit) const;

  // Lists by exact length in units, 0 < length < page.
  const ExtentLists& suffix_holes() const { return suffix_; }
  const ExtentLists& prefix_holes() const { return prefix_; }

  Units free_units() const { return free_units_; }
  std::size_t whole_pages() const { return whole_pages_; }
  // The first whole free page from number `page` on; BitTree::kNone if there is none.
  std::size_t whole_page_from(std::size_t page) const {
    return page < room_ >> page_shift_ ? pages_.at_or_after(page) : BitTree::kNone;
  }
  Units largest() const;
  std::size_t extents() const { return slab_.used(); }

  // In address order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t at = begins_.at_or_after(0); at != BitTree::kNone; at = next_begin(at)) visit(*by_begin_.find(at));
  }

  Units floor_page(Units at) const { return at >> page_shift_ << page_shift_; }
  Units ceil_page(Units at) const { return floor_page(at + (Units{1} << page_shift_) - 1); }

  // The first broken invariant, or an empty string.
  std::string validate() const;

 private:
  struct BeginOf {
    Units operator()(const Extent* extent) const { return extent->begin; }
  };

  static std::size_t size_class(Units size);
  std::size_t next_begin(std::size_t at) const { return at + 1 < room_ ? begins_.at_or_after(at + 1) : BitTree::kNone; }
  // Units of the hole at that end of an extent, 0 if it reaches no page boundary or ends on one.
  Units suffix_of(Units begin, Units end) const {
    const Units border = ceil_page(begin);
    return border <= end ? border - begin : 0;
  }
  Units prefix_of(Units begin, Units end) const {
    const Units border = floor_page(end);
    return border >= begin ? end - border : 0;
  }
  void link(Extent* extent);
  void unlink(Extent* extent);
  void make(Units begin, Units end);
  void drop(Extent* extent);
  void resize(Extent* extent, Units begin, Units end);
  static void move(ExtentLists& lists, std::size_t from, std::size_t to, Extent* extent) {
    if (from == to) return;
    if (from != 0) lists.erase(from, extent);
    if (to != 0) lists.insert(to, extent);
  }
  void mark_pages(Units begin, Units end);
  void unmark_pages(Units begin, Units end);

  unsigned page_shift_;
  Units room_ = 0;
  Units free_units_ = 0;
  std::size_t whole_pages_ = 0;
  Slab<Extent> slab_;
  NodeMap<Extent, BeginOf> by_begin_;
  BitTree begins_;
  BitTree pages_;
  ExtentLists by_size_;
  ExtentLists suffix_;
  ExtentLists prefix_;
};

template <class Visit>
void FreeSpace::for_fits(Units size, int most, Visit&& visit) const {
  int too_small = 4 * most;  // of the request's own class; from the next one on all fit
  for (std::size_t list = by_size_.used_from(size_class(size)); list != BitTree::kNone && most > 0;
       list = by_size_.used_from(list + 1)) {
    for (Extent* extent = by_size_.head(list); extent != nullptr && most > 0; extent = by_size_.after(extent)) {
      if (extent->size() < size) {
        if (--too_small == 0) break;
        continue;
      }
      --most;
      if (!visit(extent)) return;
    }
  }
}

}  // namespace quarry
