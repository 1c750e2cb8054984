// What a session's allocator holds, in the words of a recording.
#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "tools/cases/session.h"

namespace quarry::tools {
namespace {

char state_letter(BlockState state) {
  if (state == BlockState::live) return 'A';
  return state == BlockState::pending ? 'P' : 'F';
}

StatValue value_of(const Stat& stat) { return std::array{stat.current, stat.peak, stat.allocated, stat.freed}; }

}  // namespace

RecordedLayout Session::layout() const {
  const Snapshot snapshot = allocator_->snapshot();
  RecordedLayout layout;
  for (const SegmentView& view : snapshot.segments) {
    const Place place = NumberedAddresses::place(view.address);
    RecordedSegment segment{place.segment,
                            place.offset,
                            view.size.count,
                            stream_names_.name(view.stream),
                            view.size_class == SizeClass::small ? "small" : "large",
                            view.expandable,
                            view.pool,
                            {}};
    for (const BlockView& block : view.blocks) {
      segment.blocks.push_back({(block.address - view.address).count + place.offset, block.size.count,
                                block.requested.count, state_letter(block.state)});
    }
    layout.push_back(std::move(segment));
  }
  std::ranges::sort(layout, {}, [](const RecordedSegment& s) { return std::tuple(s.segment, s.offset); });
  return layout;
}

StatTable Session::stats() const {
  const Counters counters = allocator_->counters();
  StatTable table;
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    const MetricRow& row = counters.metrics[i];
    const std::string name(kMetricNames[i]);
    table[name + ".all"] = value_of(row.all);
    table[name + ".small_pool"] = value_of(row.small_pool);
    table[name + ".large_pool"] = value_of(row.large_pool);
  }
  for (std::size_t i = 0; i < kGaugeNames.size(); ++i)
    table[std::string(kGaugeNames[i])] = value_of(counters.gauges[i]);
  for (std::size_t i = 0; i < kTallyNames.size(); ++i) {
    table[std::string(kTallyNames[i])] = static_cast<std::int64_t>(counters.tallies[i]);
  }
  for (const PoolId pool : pools_) {
    const auto row = allocator_->counters(pool);
    if (!row || (*row)[Metric::reserved_bytes].all == Stat{}) continue;  // a row begins with the first segment
    table[fmt::format("reserved_bytes_by_private_pools.{}_{}.all", pool.first, pool.second)] =
        value_of((*row)[Metric::reserved_bytes].all);
  }
  table["max_split_size"] = counters.max_split_size;
  return table;
}

std::uint64_t Session::heap_size() const {
  const Counters counters = allocator_->counters();
  const auto current = [&](Metric metric) { return static_cast<std::uint64_t>(counters[metric].all.current); };
  return current(Metric::segment) + current(Metric::active) + current(Metric::inactive_split);
}

std::array<std::int64_t, 5> Session::sums() const {
  const Counters counters = allocator_->counters();
  const auto current = [&](Metric metric) { return counters[metric].all.current; };
  return {current(Metric::allocated_bytes), current(Metric::reserved_bytes), current(Metric::active_bytes),
          current(Metric::inactive_split_bytes), current(Metric::requested_bytes)};
}

}  // namespace quarry::tools
