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
  std::optional<Place> at;
  if (record.action != Action::oom) at = NumberedAddresses::place(record.address);
  events_.push_back({std::string(kActionNames[static_cast<std::size_t>(record.action)]), at, record.size.count,
                     streams_.name(record.stream), record.pool});
}

std::vector<RecordedEvent> Watcher::take_events() { return std::exchange(events_, {}); }

}  // namespace quarry::tools
