// Scores every candidate by what it does to the worth of free memory, and takes the cheapest.
//
// Worth is counted in pages. A whole free page is worth 1, the free end of a partly used page nearly its size, a hole
// inside a page little: a block under an alias can use the end of a page but not a hole in its middle. Rule and
// figures: reference/fragmentation.md section 4.
#pragma once

#include <vector>

#include <quarry/allocator/heap/page_placement.h>

namespace quarry {

// Worth of a free range, by its length inside a page. Units of 512 B.
class PageWorth {
 public:
  explicit PageWorth(unsigned page_shift);

  // Of a range that reaches its page's start or end, and of one that does neither.
  double edge(Units length) const { return edge_[length]; }
  double middle(Units length) const { return middle_[length]; }
  double of(Units begin, Units end) const {
    const Units first = (begin + page_ - 1) >> page_shift_;
    const Units last = end >> page_shift_;
    if (first > last) return middle_[end - begin];
    return static_cast<double>(last - first) + edge_[(first << page_shift_) - begin] +
           edge_[end - (last << page_shift_)];
  }

 private:
  unsigned page_shift_;
  Units page_;
  std::vector<double> edge_;
  std::vector<double> middle_;
};

class TightPlacement final : public PagePlacement {
 public:
  explicit TightPlacement(unsigned page_shift) : page_shift_(page_shift), worth_(page_shift) {}
  PageChoice choose(const FreeSpace& free, Units size, const PageState& state) const override;
  std::size_t maps_per_page() const override { return 16384; }

 private:
  unsigned page_shift_;
  PageWorth worth_;
};

}  // namespace quarry
