// Where a request goes, and how much is got for it, where nothing can be mapped: the memory is a row of plain segments,
// each given back only when nothing lives in it.
//
// Two rules, for a request of r bytes.
//  - It is cut only from a segment of at most max(2 MiB, 16 r), so that a small block never holds up the release of a
//    huge segment, nor strands it. Only a request that would be refused otherwise, after all that can be given back was
//    given back, takes whatever fits.
//  - What is got for it is r in whole pages, and more only for the requests to come: from 1 MiB on room for some more
//    like it, in segments up to 32 MiB, where no more than 1/16 of the live bytes lie free then; below 1 MiB a quarter
//    of the live bytes, up to 2 MiB.
// So a program that only allocates, 1 MiB and more at a time, from pages of 64 KiB or less, holds at most 1/16 more
// than it asked for.
#pragma once

#include <algorithm>

#include <quarry/allocator/heap/page_arena.h>
#include <quarry/allocator/heap/page_placement.h>
#include <quarry/allocator/heap/page_rules.h>

namespace quarry {

// Bytes of the largest segment that a request of so many bytes may be cut from.
constexpr Bytes most_segment(Bytes request) {
  constexpr Bytes kSmall{2ull << 20};
  constexpr std::uint64_t kTimes = 16;
  return request.count > kUnlimited.count / kTimes ? kUnlimited : std::max(kSmall, request * kTimes);
}

// Bytes to get from the driver for a request that nothing free serves, `exact` when in whole pages of `page`.
constexpr Bytes segment_to_get(Bytes request, Bytes exact, Bytes page, Bytes live, Bytes free) {
  constexpr Bytes kLarge{1ull << 20};
  constexpr Bytes kMostSmall{2ull << 20};
  constexpr Bytes kMostShared{32ull << 20};
  constexpr std::uint64_t kSpare = 16;
  if (request < kLarge) return std::max(exact, std::min(kMostSmall, round_up({live.count / 4}, page)));
  const Bytes spare{(live + request).count / kSpare};
  const Bytes most = std::min(kMostShared, most_segment(request));
  if (exact >= most || spare < free + request) return exact;
  // Whole ones: a rest that serves nobody would lie free for good.
  std::uint64_t more = std::min((spare - free).count / request.count, most.count / request.count - 1);
  if (round_up(request * (1 + more), page) > std::min(most, request + (spare - free))) --more;
  return std::max(exact, round_up(request * (1 + more), page));
}

// A free run in a segment of at most `most` bytes, the smallest among those looked at; kind none if there is none.
// `whole`: at the start of a page. A bounded look: with very many runs in segments that are too large, one that would
// do can be missed.
PageChoice choose_in_segments(const FreeSpace& free, const PageArena& arena, Units size, bool whole, Bytes most);

}  // namespace quarry
