#include "tools/cases/watcher.h"

#include <array>
#include <string_view>
#include <utility>

namespace quarry::tools {
namespace {

// In the order of Action.
constexpr std::array<std::string_view, 8> kActionNames = {
    "alloc",        "free_requested", "free_completed", "segment_alloc",
    "segment_free", "segment_map",    "segment_unmap",  "oom"};

}  // namespace

void Watcher::on_record(const Record& record) noexcept {
  if (record.action == Action::segment_alloc) segments_[record.address] = {next_number_++, record.size};
  std::optional<Place> at;
  if (record.action != Action::oom) at = place(record.address);
  events_.push_back({std::string(kActionNames[static_cast<std::size_t>(record.action)]), at, record.size.count,
                     streams_.name(record.stream), record.pool});
  if (record.action == Action::segment_free) segments_.erase(record.address);
}

std::optional<Place> Watcher::place(Address address) const {
  const auto* segment = find(address);
  if (!segment) return std::nullopt;
  return Place{segment->second.number, (address - segment->first).count, std::nullopt};
}

std::optional<Bytes> Watcher::segment_size(Address address) const {
  const auto* segment = find(address);
  if (!segment) return std::nullopt;
  return segment->second.size;
}

std::vector<RecordedEvent> Watcher::take_events() { return std::exchange(events_, {}); }

const std::pair<const Address, Watcher::Segment>* Watcher::find(Address address) const {
  auto after = segments_.upper_bound(address);
  if (after == segments_.begin()) return nullptr;
  const auto& segment = *--after;
  return address < segment.first + segment.second.size ? &segment : nullptr;
}

}  // namespace quarry::tools
