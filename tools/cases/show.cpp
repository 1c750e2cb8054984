#include "tools/cases/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

std::string pool_text(PoolId pool) {
  return pool == kDefaultPool ? std::string() : fmt::format(" pool {}.{}", pool.first, pool.second);
}

}  // namespace

std::string show(const std::optional<Place>& place) {
  if (!place) return "none";
  if (!place->size) return fmt::format("segment {} offset {}", place->segment, place->offset);
  return fmt::format("segment {} offset {} size {}", place->segment, place->offset, *place->size);
}

std::string show(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "none"; }

std::string show(const RecordedEvent& event) {
  return fmt::format("{} {} bytes {} stream {}{}", printable(event.action), show(event.place), event.size, event.stream,
                     pool_text(event.pool));
}

std::string show(const StatValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  return fmt::format("[{}]", fmt::join(std::get<0>(value), ", "));
}

std::string show(const RecordedSegment& segment) {
  std::string text = fmt::format("segment {} offset {} size {} stream {} {}{}{}:", segment.segment, segment.offset,
                                 segment.size, segment.stream, printable(segment.size_class),
                                 segment.expandable ? " expandable" : "", pool_text(segment.pool));
  for (const RecordedBlock& block : segment.blocks) {
    text += fmt::format(" {}+{}{}", block.offset, block.size, block.state);
    if (block.state != 'F') text += fmt::format("({})", block.requested);
  }
  return text;
}

}  // namespace quarry::tools
