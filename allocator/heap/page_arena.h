// The address range and the pages that all paged heaps of one space share. Every page has its home address in the
// arena, and one pool that owns it. Where the driver cannot map, the arena is a row of segments instead: each has its
// own places, with a page between two, so that nothing merges across.
//
// Places are units of 512 B from the start of the arena. Guard: the heap lock of the space; functions that say so need
// the grow lock too and drop the heap lock around driver calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <quarry/allocator/heap/heap.h>
#include <quarry/allocator/heap/page_aliases.h>

namespace quarry {

class PageHeap;

class PageArena {
 public:
  // A run of pages.
  struct Run {
    std::size_t first = 0;
    std::size_t count = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };

  PageArena(HeapHost& host, Bytes page_size, bool maps);

  bool maps() const { return maps_; }
  Bytes page_size() const { return page_size_; }
  unsigned page_shift() const { return page_shift_; }
  Units page_units() const { return Units{1} << page_shift_; }
  Address address_of(Units place) const;
  // Empty where the address is no home address.
  std::optional<Units> place_of(Address address) const {
    if (!maps_) return place_in_segments(address);
    const Bytes from = address - range_.address;
    if (!open_ || from >= range_.size) return std::nullopt;
    return from.count / kUnit;
  }
  // Places below this have been used.
  Units end() const { return end_; }

  // Runs of home addresses without a page, in address order; the last is by far the longest.
  const std::map<std::size_t, std::size_t>& gaps() const { return gaps_; }

  // With the grow lock. Reserves the arena's addresses at the first call.
  DriverStatus open();
  // With the grow lock, which drops the heap lock: gets pages for a run inside a gap. All or nothing.
  DriverStatus map(Run run, Pool& owner);
  // The same way: gives back pages that nobody uses any more; how many, from the first on.
  std::size_t unmap(Run run);
  // With the grow lock: gives the addresses back once no page is left.
  void close();
  DriverResult<Alias*> make_alias(PageSequence pages);
  DriverStatus drop_alias(Alias& alias);

  Pool* owner(std::size_t page) const { return page < owners_.size() ? owners_[page] : nullptr; }
  void give(std::size_t page, Pool& to) { owners_[page] = &to; }
  std::size_t pages_of(const Pool& pool) const;
  std::size_t pages() const { return pages_; }
  // Home addresses without a page; with mapping, once open.
  std::size_t missing() const { return range_.pages->count(range_.size) - pages_; }

  // Without mapping: one more segment, and its places.
  DriverResult<Run> add_segment(Bytes size, Pool& owner);
  DriverStatus remove_segment(std::size_t first_page);
  const std::map<std::size_t, Segment>& segments() const { return segments_; }
  // Of the segment a place lies in.
  Bytes segment_size(Units place) const { return std::prev(segments_.upper_bound(place >> page_shift_))->second.size; }

  PageAliases& aliases() { return aliases_; }
  const PageAliases& aliases() const { return aliases_; }
  std::vector<PageHeap*>& heaps() { return heaps_; }

 private:
  std::optional<Units> place_in_segments(Address address) const;
  void take_gap(Run run);
  void return_gap(Run run);

  HeapHost& host_;
  Bytes page_size_;
  unsigned page_shift_;
  bool maps_;
  Segment range_;  // the addresses, and the handle of each page
  bool open_ = false;
  Units end_ = 0;
  std::size_t pages_ = 0;
  std::vector<Pool*> owners_;                // by page, null where there is none
  std::map<std::size_t, std::size_t> gaps_;  // first page -> pages
  std::map<std::size_t, Segment> segments_;  // first page -> segment, without mapping
  std::map<Address, std::size_t> by_address_;
  PageAliases aliases_;
  std::vector<PageHeap*> heaps_;  // in the order of their making
};

}  // namespace quarry
