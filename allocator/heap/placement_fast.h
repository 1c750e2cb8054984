// Good fit; on a miss whichever takes fewer new pages: growing in place, or all whole free pages and the ends of partly
// used ones under an alias. Stitching on every miss costs more memory than it saves (reference/fragmentation.md 4).
#pragma once

#include <quarry/allocator/heap/page_placement.h>

namespace quarry {

class FastPlacement final : public PagePlacement {
 public:
  explicit FastPlacement(unsigned page_shift) : page_shift_(page_shift) {}
  PageChoice choose(const FreeSpace& free, Units size, const PageState& state) const override;
  std::size_t maps_per_page() const override { return 32; }

 private:
  bool before_last_gap(const Extent& extent, const PageState& state) const;
  PageChoice stitch(const FreeSpace& free, Units size) const;

  unsigned page_shift_;
};

}  // namespace quarry
