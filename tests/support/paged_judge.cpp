#include "support/paged_judge.h"

namespace quarry::paged {

std::uint64_t whole_pages(const SegmentView& segment, Bytes page, const std::function<bool(const BlockView&)>& counts) {
  std::uint64_t pages = 0;
  Address begin = segment.address;
  Address end = begin;
  const auto close = [&] {
    const std::uint64_t first = ((begin - segment.address).count + page.count - 1) / page.count;
    const std::uint64_t last = (end - segment.address).count / page.count;
    if (first < last && (segment.expandable || end - begin == segment.size)) pages += last - first;
  };
  for (const BlockView& range : segment.blocks) {
    if (range.state == BlockState::free && counts(range)) {
      end = range.address + range.size;
      continue;
    }
    close();
    begin = end = range.address + range.size;
  }
  close();
  return pages;
}

std::vector<BlockView> freed_by_others(const Snapshot& snapshot, StreamId stream) {
  std::vector<BlockView> found;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& range : segment.blocks) {
      if (range.state == BlockState::free && !range.shared && range.stream != stream) found.push_back(range);
    }
  }
  return found;
}

Pieces pieces_of(const Snapshot& snapshot, Address name, Bytes page, const std::vector<BlockView>& ranges) {
  Pieces pieces;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& piece : segment.blocks) {
      if (piece.state != BlockState::live || piece.name() != name) continue;
      ++pieces.count;
      const bool at_page = (piece.address - segment.address).count % page.count == 0;
      pieces.whole = pieces.whole && at_page && piece.size.count % page.count == 0;
      pieces.handed_over =
          pieces.handed_over || std::ranges::any_of(ranges, [&](const BlockView& range) {
            return range.address < piece.address + piece.size && piece.address < range.address + range.size;
          });
    }
  }
  return pieces;
}

}  // namespace quarry::paged
