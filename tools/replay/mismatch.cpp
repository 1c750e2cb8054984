#include "tools/replay/mismatch.h"

#include <fmt/format.h>
#include <quarry/stats/summary.h>

namespace quarry::tools {
namespace {

std::string bytes(Bytes n) { return stats::format_bytes(n, stats::Units::bytes); }

bool inside(Address address, Address base, Bytes size) { return address >= base && address - base < size; }

std::optional<Site> find_block(const Snapshot& heap, Address address) {
  for (const SegmentView& segment : heap.segments) {
    if (!inside(address, segment.address, segment.size)) continue;
    for (const BlockView& block : segment.blocks) {
      if (!inside(address, block.address, block.size)) continue;
      return Site{segment.address, segment.size, block.address, block.size, block.state, false};
    }
  }
  return std::nullopt;
}

Site fresh_segment(Address base, Bytes size) { return {base, size, base, size, BlockState::free, true}; }

std::optional<Site> find_recorded(const Snapshot& before, std::span<const GrownSegment> grown, Address address) {
  if (std::optional<Site> site = find_block(before, address)) return site;
  for (const GrownSegment& segment : grown) {
    if (inside(address, segment.address, segment.size)) return fresh_segment(segment.address, segment.size);
  }
  return std::nullopt;
}

std::optional<Site> find_chosen(const HeapStates& heap, Address address) {
  if (address == Address{}) return std::nullopt;
  if (std::optional<Site> site = find_block(heap.before, address)) return site;
  const std::optional<Site> site = find_block(heap.after, address);
  return site ? std::optional(fresh_segment(site->segment, site->segment_size)) : std::nullopt;
}

std::string describe(const std::optional<Site>& site) {
  if (!site) return "where neither our heap nor the recording has a segment";
  if (site->fresh) return fmt::format("in a new segment of {}", bytes(site->segment_size));
  return fmt::format("in a {} block of {} at {:#x}, which lies in the segment of {} at {:#x}",
                     site->state == BlockState::free ? "free" : "used", bytes(site->block_size), site->block.value,
                     bytes(site->segment_size), site->segment.value);
}

// Both places are known; the recorded one is free or new.
std::string_view reason_of_choice(const Site& recorded, const Site& chosen) {
  if (recorded.fresh && chosen.fresh) {
    return recorded.segment_size == chosen.segment_size
               ? "both got a new segment, but another recorded one of this size was next for us"
               : "both got a new segment, of different sizes: the rounding differs";
  }
  if (recorded.fresh) return "the recording got a new segment, we found a free block that serves";
  if (chosen.fresh) return "the recording used a free block, we found none that serves and got a new segment";
  if (recorded.block == chosen.block) return "both lie in the same free block";
  if (chosen.block_size < recorded.block_size) return "ours is the smaller of the two and large enough";
  if (chosen.block_size > recorded.block_size) {
    return "the recorded block is too small for the request as we round it, or of another class or stream";
  }
  return "both are equally large: the tie-break decides";
}

std::string_view reason(const Mismatch& m) {
  if (!m.chosen_site) return "our allocator refused the request";
  if (!m.recorded_site) return "the recorded segment is unknown";
  if (!m.recorded_site->fresh && m.recorded_site->state != BlockState::free) {
    return "in our run that place is still in use: blocks before it have other sizes";
  }
  return reason_of_choice(*m.recorded_site, *m.chosen_site);
}

std::string in_words(const Mismatch& m) {
  const std::string chosen =
      m.chosen_site ? fmt::format("{:#x}, {}", m.chosen.value, describe(m.chosen_site)) : "nothing";
  return fmt::format(
      "entry {}, a request of {} on stream {:#x}\n  recorded at {:#x}, {}\n  we chose    {}\n  because     {}", m.entry,
      bytes(m.size), m.stream, m.recorded.value, describe(m.recorded_site), chosen, reason(m));
}

}  // namespace

Mismatch explain_mismatch(const Op& op, std::uint64_t stream_handle, Address chosen, const HeapStates& heap,
                          std::span<const GrownSegment> grown) {
  Mismatch mismatch;
  mismatch.entry = op.entry;
  mismatch.size = op.size;
  mismatch.stream = stream_handle;
  mismatch.recorded = op.address;
  mismatch.chosen = chosen;
  mismatch.recorded_site = find_recorded(heap.before, grown, op.address);
  mismatch.chosen_site = find_chosen(heap, chosen);
  mismatch.text = in_words(mismatch);
  return mismatch;
}

}  // namespace quarry::tools
