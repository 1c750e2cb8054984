#include <quarry/allocator/heap/placement_segments.h>

namespace quarry {
namespace {

constexpr int kLooks = 64;

}  // namespace

PageChoice choose_in_segments(const FreeSpace& free, const PageArena& arena, Units size, bool whole, Bytes most) {
  PageChoice choice;
  free.for_fits(size, kLooks, [&](Extent* extent) {
    const Units at = whole ? free.ceil_page(extent->begin) : extent->begin;
    if (at + size > extent->end || arena.segment_size(extent->begin) > most) return true;
    choice.kind = PageChoice::Kind::home;
    choice.at = at;
    choice.extent = extent;
    return false;
  });
  return choice;
}

}  // namespace quarry
