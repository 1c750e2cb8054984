#include <quarry/stats/summary.h>

#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace quarry::stats {
namespace {

constexpr int kWidth = 82;

struct Row {
  Metric metric;
  std::string_view title;
};
constexpr std::array<Row, 5> kByteRows = {{{Metric::allocated_bytes, "Allocated memory"},
                                           {Metric::active_bytes, "Active memory"},
                                           {Metric::requested_bytes, "Requested memory (active)"},
                                           {Metric::reserved_bytes, "Reserved memory"},
                                           {Metric::inactive_split_bytes, "Non-releasable memory"}}};
constexpr std::array<Row, 4> kCountRows = {{{Metric::allocation, "Allocations"},
                                            {Metric::active, "Active allocations"},
                                            {Metric::segment, "Reserved segments"},
                                            {Metric::inactive_split, "Non-releasable blocks"}}};

class Page {
 public:
  explicit Page(Units units) : units_(units) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void rule(char c) { line("{}", std::string(kWidth, c)); }

  void table(const Counters& counters);
  void ledger(const Ledger& ledger);
  void streams(const Ledger& ledger);
  std::string take() { return std::move(text_); }

 private:
  std::string bytes(std::int64_t n) const {
    // A running sum can fall below zero only after a reset of the limits it is judged by.
    return n < 0 ? "-" + format_bytes({static_cast<std::uint64_t>(-n)}, units_)
                 : format_bytes({static_cast<std::uint64_t>(n)}, units_);
  }
  void stat(std::string_view title, const Stat& s, bool is_bytes) {
    const auto cell = [&](std::int64_t n) { return is_bytes ? bytes(n) : format_count(n); };
    line("{:<26}{:>14}{:>14}{:>14}{:>14}", title, cell(s.current), cell(s.peak), cell(s.allocated), cell(s.freed));
  }
  void metric(std::string_view title, const MetricRow& row, bool is_bytes) {
    stat(title, row.all, is_bytes);
    stat("  large blocks", row.large_pool, is_bytes);
    stat("  small blocks", row.small_pool, is_bytes);
  }
  void sum(char sign, std::string_view what, Bytes n, std::string_view why = {}) {
    line("  {} {:<20}{:>16}{}{}", sign, what, format_bytes(n, units_), why.empty() ? "" : "   ", why);
  }

  Units units_;
  std::string text_;
};

void Page::table(const Counters& counters) {
  line("{:<26}{:>14}{:>14}{:>14}{:>14}", "", "current", "peak", "total alloc", "total freed");
  rule('-');
  for (const Row& row : kByteRows) metric(row.title, counters[row.metric], true);
  rule('-');
  for (const Row& row : kCountRows) metric(row.title, counters[row.metric], false);
  rule('-');
  stat("Oversize allocations", counters[Gauge::oversize_allocations], false);
  stat("Oversize segments", counters[Gauge::oversize_segments], false);
}

// Only where there are several: what one stream has cached serves no other yet. What serves all has a row of its own.
void Page::streams(const Ledger& l) {
  if (l.streams.size() < 2) return;
  line("By stream");
  for (const StreamRow& row : l.streams) {
    const std::string title = row.shared ? "shared" : fmt::format("stream {}", static_cast<std::uint32_t>(row.stream));
    sum(' ', title, row.active + row.cached,
        fmt::format("{} active, {} cached", format_bytes(row.active, units_), format_bytes(row.cached, units_)));
  }
}

void Page::ledger(const Ledger& l) {
  line("Where the memory is now");
  sum(' ', "requested", l.requested, "live requests, as asked for");
  sum('+', "rounding", l.rounding(), "what blocks are larger than their requests");
  sum('=', "allocated", l.allocated,
      fmt::format("{} live blocks", format_count(static_cast<std::int64_t>(l.live_blocks))));
  sum('+', "pending", l.pending, "freed, still used on another stream");
  sum('=', "active", l.active());
  sum('+', "releasable", l.releasable, "cached in wholly free segments: empty_cache gives it back");
  sum('+', "stranded", l.stranded, "cached beside live blocks: it cannot be given back now");
  sum('=', "reserved", l.reserved, fmt::format("{} segments", format_count(static_cast<std::int64_t>(l.segments))));
  if (l.device_total.count != 0) {
    sum('+', "outside", l.outside(), "held by others on the device");
    sum('+', "device free", l.device_free);
    sum('=', "device total", l.device_total);
  }
  if (l.limit != kUnlimited) sum(' ', "limit on reserved", l.limit);
  sum(' ', "largest free block", l.largest_free,
      fmt::format("of {} free blocks", format_count(static_cast<std::int64_t>(l.free_blocks))));
  streams(l);
  line("Fragmentation");
  line("    {:<36}{:>6.3f}", "F = peak reserved / peak requested", l.fragmentation());
  line("    {:<36}{:>6.3f}", "1 - largest free / free bytes, now", l.free_fragmentation());
}

}  // namespace

std::string summary(const SpaceStats& stats, Units units) {
  Page page(units);
  page.rule('=');
  page.line("Memory of {}", stats.device);
  page.line("out-of-memory errors: {}    driver retries: {}    driver calls: {} for memory, {} to give it back",
            stats.counters[Tally::num_ooms], stats.counters[Tally::num_alloc_retries],
            stats.counters[Tally::num_device_alloc], stats.counters[Tally::num_device_free]);
  if (stats.ledger.contiguous) page.line("paged policy without mapping: contiguous, pages are not stitched");
  page.rule('=');
  page.table(stats.counters);
  page.rule('=');
  page.ledger(stats.ledger);
  page.rule('=');
  return page.take();
}

}  // namespace quarry::stats
