// The one list of counters. Names, order and meaning are PyTorch's (reference/pytorch_allocator.md section 10);
// structs, tables and JSON all come from here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <quarry/allocator/types.h>

namespace quarry {

// A running sum. `peak` is the largest `current` since the last reset; `allocated` and `freed` only grow.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;
  std::int64_t freed = 0;

  void up(std::int64_t n) {
    current += n;
    peak = std::max(peak, current);
    allocated += n;
  }
  void down(std::int64_t n) {
    current -= n;
    freed += n;
  }
  // A net change: n > 0 counts as up, n < 0 as down, 0 as nothing.
  void change(std::int64_t n) { n >= 0 ? up(n) : down(-n); }
  void reset_peak() { peak = current; }
  void reset_accumulated() { allocated = freed = 0; }

  friend bool operator==(const Stat&, const Stat&) = default;
};

// Counted for small and large blocks apart, and together.
enum class Metric : std::uint8_t {
  allocation,            // live requests; drops when the caller frees
  segment,               // segments got whole from the driver
  active,                // blocks live or pending
  inactive_split,        // free blocks that share their segment with another block
  allocated_bytes,       // bytes of live blocks
  reserved_bytes,        // bytes got from the driver
  active_bytes,          // bytes of live and pending blocks
  inactive_split_bytes,  // bytes of `inactive_split` blocks
  requested_bytes,       // requested bytes of live and pending blocks (requested_active in DESIGN.md)
};
inline constexpr std::array<std::string_view, 9> kMetricNames = {
    "allocation",      "segment",        "active",       "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
    "requested_bytes"};

// Counted once per space.
enum class Gauge : std::uint8_t {
  oversize_allocations,  // live blocks of max_split_size or more
  oversize_segments,     // segments of max_split_size or more
};
inline constexpr std::array<std::string_view, 2> kGaugeNames = {"oversize_allocations", "oversize_segments"};

// Plain counts of events.
enum class Tally : std::uint8_t {
  num_alloc_retries,     // times the last rung of the ladder asked the driver again
  num_ooms,              // requests refused
  num_sync_all_streams,  // full waits for all events
  num_device_alloc,      // driver calls that got memory
  num_device_free,       // driver calls that gave memory back
  num_oom_rejections,    // requests refused by throw_on_cudamalloc_oom
  num_stream_waits,      // ours: times a stream was made to wait for another instead of getting pages
  num_alias_maps,        // ours: aliases that were asked for
};
inline constexpr std::array<std::string_view, 8> kTallyNames = {
    "num_alloc_retries", "num_ooms",           "num_sync_all_streams", "num_device_alloc",
    "num_device_free",   "num_oom_rejections", "num_stream_waits",     "num_alias_maps"};

struct MetricRow {
  Stat all;
  Stat small_pool;
  Stat large_pool;

  Stat& of(SizeClass size_class) { return size_class == SizeClass::small ? small_pool : large_pool; }
  friend bool operator==(const MetricRow&, const MetricRow&) = default;
};

// A value: copy it, compare it, print it.
struct Counters {
  std::array<MetricRow, kMetricNames.size()> metrics;
  std::array<Stat, kGaugeNames.size()> gauges;
  std::array<std::uint64_t, kTallyNames.size()> tallies{};
  std::int64_t max_split_size = -1;  // bytes, as set when the space was opened; -1 = unlimited

  MetricRow& operator[](Metric m) { return metrics[static_cast<std::size_t>(m)]; }
  const MetricRow& operator[](Metric m) const { return metrics[static_cast<std::size_t>(m)]; }
  Stat& operator[](Gauge g) { return gauges[static_cast<std::size_t>(g)]; }
  const Stat& operator[](Gauge g) const { return gauges[static_cast<std::size_t>(g)]; }
  std::uint64_t& operator[](Tally t) { return tallies[static_cast<std::size_t>(t)]; }
  std::uint64_t operator[](Tally t) const { return tallies[static_cast<std::size_t>(t)]; }

  void change(Metric m, SizeClass size_class, std::int64_t n) {
    MetricRow& row = (*this)[m];
    row.all.change(n);
    row.of(size_class).change(n);
  }

  // Calls visit(name, stat) for every Stat of `self` (const where `self` is); metric names end in .all, .small_pool or
  // .large_pool. The name lives until visit returns.
  template <class Self, class Visit>
  static void for_each_stat(Self& self, Visit&& visit);

  // peak := current. Units and threads: the owner's lock.
  void reset_peak();
  // allocated, freed and the tallies := 0; current, peak and max_split_size stay.
  void reset_accumulated();

  friend bool operator==(const Counters&, const Counters&) = default;
};

template <class Self, class Visit>
void Counters::for_each_stat(Self& self, Visit&& visit) {
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    const std::string name(kMetricNames[i]);
    auto& row = self.metrics[i];
    visit(std::string_view(name + ".all"), row.all);
    visit(std::string_view(name + ".small_pool"), row.small_pool);
    visit(std::string_view(name + ".large_pool"), row.large_pool);
  }
  for (std::size_t i = 0; i < kGaugeNames.size(); ++i) visit(kGaugeNames[i], self.gauges[i]);
}

}  // namespace quarry
