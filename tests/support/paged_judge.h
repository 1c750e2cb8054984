// What a snapshot of the paged policy says about pages and pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <quarry/allocator/snapshot.h>

namespace quarry::paged {

// Whole pages that are free in one segment, counting the free ranges that `counts` only. Without mapping the segment is
// the page.
std::uint64_t whole_pages(const SegmentView& segment, Bytes page, const std::function<bool(const BlockView&)>& counts);

// Free ranges that another stream used last and that are its own yet.
std::vector<BlockView> freed_by_others(const Snapshot& snapshot, StreamId stream);

struct Pieces {
  std::uint64_t count = 0;
  bool whole = true;         // begin at a page and are whole pages
  bool handed_over = false;  // lie in one of the ranges
};
// Of the live block that the caller knows as `name`.
Pieces pieces_of(const Snapshot& snapshot, Address name, Bytes page, const std::vector<BlockView>& ranges);

}  // namespace quarry::paged
