// The pages of one expandable segment: their size, and the handle of each mapped one. Guard: the heap lock of the
// space.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/types.h>

namespace quarry {

// Offsets count from the segment's address; ranges are whole pages.
class SegmentPages {
 public:
  explicit SegmentPages(Bytes page_size) : page_size_(page_size) {}

  Bytes page_size() const { return page_size_; }
  Bytes round_down(Bytes n) const { return {n.count / page_size_.count * page_size_.count}; }
  Bytes round_up(Bytes n) const { return round_down(n + page_size_ - Bytes{1}); }
  std::size_t count(Bytes size) const { return static_cast<std::size_t>(size.count / page_size_.count); }

  bool mapped(Bytes offset) const {
    const std::size_t page = count(offset);
    return page < handles_.size() && handles_[page].has_value();
  }
  // Of a range that is mapped as a whole.
  std::vector<PageHandle> handles(Bytes offset, Bytes size) const {
    std::vector<PageHandle> found;
    for (std::size_t page = count(offset); page < count(offset + size); ++page) found.push_back(*handles_[page]);
    return found;
  }
  // Of a page that is mapped.
  PageHandle handle(std::size_t page) const { return *handles_[page]; }
  void set(Bytes offset, const std::vector<PageHandle>& handles) {
    const std::size_t first = count(offset);
    if (handles_.size() < first + handles.size()) handles_.resize(first + handles.size());
    for (std::size_t i = 0; i < handles.size(); ++i) handles_[first + i] = handles[i];
  }
  void clear(Bytes offset, Bytes size) {
    for (std::size_t page = count(offset); page < count(offset + size); ++page) handles_[page].reset();
  }

 private:
  Bytes page_size_;
  std::vector<std::optional<PageHandle>> handles_;  // up to the last page that was ever mapped
};

}  // namespace quarry
