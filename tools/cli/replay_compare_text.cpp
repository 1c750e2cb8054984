#include "tools/cli/replay_compare_text.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

std::string count(std::uint64_t n) { return stats::format_count(static_cast<std::int64_t>(n)); }

std::uint64_t total(const CallCounts& calls) { return std::accumulate(calls.begin(), calls.end(), std::uint64_t{0}); }

// The first iteration and the last one, or the only one; "-" where nothing was run.
template <class Text>
std::string cold_and_last(const CompareRun& run, Text text) {
  if (run.iterations.empty()) return "-";
  std::string cell = text(run.iterations.front());
  if (run.iterations.size() > 1) cell += " / " + text(run.iterations.back());
  return cell;
}

void add_row(Table& table, const CompareRun& run, stats::Units units) {
  const bool differs = run.peak_requested_active != run.peak_requested && run.policy != "bound";
  table.row({std::string(run.policy), stats::format_bytes(run.peak_reserved, units),
             fmt::format("{:.4f}", run.fragmentation()),
             differs ? fmt::format("{:.4f}", run.fragmentation_active()) : "-",
             cold_and_last(run, [](const CompareIteration& i) { return count(total(i.driver_calls)); }),
             cold_and_last(run, [](const CompareIteration& i) { return fmt::format("{:.2f}", i.driver_us / 1e3); }),
             cold_and_last(run, [](const CompareIteration& i) { return fmt::format("{:.0f}", i.ns_per_op); })});
}

std::string device_text(const DeviceReplay& device, const std::string& name, stats::Units units) {
  const CompareRun& any = device.compared.front();
  const std::size_t iterations =
      std::max<std::size_t>(1, std::ranges::max(device.compared, {}, [](const CompareRun& run) {
                                 return run.iterations.size();
                               }).iterations.size());
  std::string text =
      fmt::format("{}: {} allocations on {} stream{}, peak requested {}", name, count(any.allocations), device.streams,
                  device.streams == 1 ? "" : "s", stats::format_bytes(any.peak_requested, units));
  if (iterations > 1) text += fmt::format(", {} iterations", iterations);
  Table table({{"policy"},
               {"peak reserved", Align::right},
               {"F", Align::right},
               {"F active", Align::right},
               {"driver calls", Align::right},
               {"driver ms", Align::right},
               {"ns/op", Align::right}});
  for (const CompareRun& run : device.compared) add_row(table, run, units);
  text += "\n" + table.text();
  for (const CompareRun& run : device.compared) {
    if (!run.note.empty()) text += fmt::format("{}: {}\n", run.policy, run.note);
    if (run.ooms != 0) text += fmt::format("{}: {} requests were refused\n", run.policy, count(run.ooms));
  }
  return text;
}

constexpr const char* kLegend =
    "F = peak reserved / peak requested; F active counts blocks as requested until other streams have done with them.\n"
    "Driver time is simulated. With several iterations: the first (from an empty allocator) / the last.\n";

const CompareRun* find_run(const DeviceReplay& device, std::string_view policy) {
  const auto found = std::ranges::find(device.compared, policy, &CompareRun::policy);
  return found == device.compared.end() ? nullptr : &*found;
}

std::string markdown_row(const std::string& name, const DeviceReplay& device,
                         std::span<const PolicyEntry* const> policies) {
  std::string row =
      fmt::format("| {} | {:.1f} |", name, static_cast<double>(device.compared.front().peak_requested.count) / 0x1p20);
  for (const PolicyEntry* policy : policies) {
    const CompareRun* const run = find_run(device, policy->key);
    if (run != nullptr) row += fmt::format(" {:.4f} |", run->fragmentation());
  }
  return row + "\n";
}

}  // namespace

std::string compare_text(std::span<const FileReport> reports, const ShortNames& names, stats::Units units) {
  std::string text;
  for (const FileReport& report : reports) {
    for (const DeviceReplay& device : report.devices) {
      if (device.compared.empty() || device.verdict != Verdict::compared) continue;
      text += device_text(device, names.of(report, device), units) + "\n";
    }
  }
  return text.empty() ? text : text + kLegend;
}

std::string compare_markdown(std::span<const FileReport> reports, std::span<const PolicyEntry* const> policies) {
  const ShortNames names(reports);
  std::vector<const PolicyEntry*> columns(policies.begin(), policies.end());
  std::erase_if(columns, [](const PolicyEntry* policy) { return policy->kind == PolicyKind::bound; });
  std::string text = "| trace | bound, MiB |";
  std::string rule = "|---|---:|";
  for (const PolicyEntry* policy : columns) {
    text += fmt::format(" {} |", policy->key);
    rule += "---:|";
  }
  text += "\n" + rule + "\n";
  for (const FileReport& report : reports) {
    for (const DeviceReplay& device : report.devices) {
      if (device.verdict != Verdict::compared || device.compared.empty()) continue;
      std::string name = names.of(report, device);
      if (report.scale != 1) name += fmt::format(" x {}", report.scale);
      text += markdown_row(name, device, columns);
    }
  }
  return text;
}

}  // namespace quarry::tools
