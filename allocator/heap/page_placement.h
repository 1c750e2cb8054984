// Where a request of the paged policy goes: the question, the answer, and the two ways to find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include <quarry/allocator/heap/free_space.h>
#include <quarry/allocator/options.h>

namespace quarry {

// What a placement may know beside the free space. Pages and units of 512 B.
struct PageState {
  std::size_t pages = 0;  // held by the heap
  Units most_live = 0;    // the most that was ever live in it at once
  // Runs of places without a page, first -> count; the last is the end of the arena. Null where nothing can be mapped.
  const std::map<std::size_t, std::size_t>* gaps = nullptr;
  std::size_t maps = 0;  // pages mapped for aliases and not yet set off by growth
};

// One run, or pieces that are mapped one after the other: the last units of a partly used page, whole pages, the first
// units of a partly used page.
struct PageChoice {
  enum class Kind : std::uint8_t {
    none,    // nothing free serves it, and nothing can be mapped
    home,    // one run at its home address
    stitch,  // pieces under an alias
  };

  Kind kind = Kind::none;
  double cost = 0;               // worth in pages of the free memory it uses up
  std::size_t grow = 0;          // pages it needs from the driver
  Units at = 0;                  // home: where the block begins
  Extent* extent = nullptr;      // home: the extent around it; null if it begins with new pages
  std::size_t gap = 0;           // home with grow: the first page of the gap it grows into
  Units front = 0;               // stitch: units at the end of the first page, 0 = none
  Units back = 0;                // stitch: units at the start of the last page, 0 = none
  std::size_t whole = 0;         // stitch: whole pages between
  Extent* front_hole = nullptr;  // the extent whose suffix hole gives `front`; null = of a whole page
  Extent* back_hole = nullptr;   // the extent whose prefix hole gives `back`; null = of a whole page
};

class PagePlacement {
 public:
  virtual ~PagePlacement() = default;

  // The best place for `size` units. Growing is always an answer where there are gaps.
  virtual PageChoice choose(const FreeSpace& free, Units size, const PageState& state) const = 0;
  // Stitching is paid at every miss, growing once: a program that keeps on stitching pieces it has never had before is
  // better off with more pages. A page may be got for so many mapped ones, as far as the placement allows.
  virtual std::size_t maps_per_page() const = 0;
};

std::unique_ptr<PagePlacement> make_placement(PlacementRule rule, unsigned page_shift);

// One run of whole pages, for blocks that are exported or registered. `size` is whole pages.
PageChoice choose_run(const FreeSpace& free, Units size, const PageState& state, unsigned page_shift);

// In place at the first gap that has room: what is free before it counts.
PageChoice grow_at_gap(const FreeSpace& free, Units size, const PageState& state, unsigned page_shift);

}  // namespace quarry
