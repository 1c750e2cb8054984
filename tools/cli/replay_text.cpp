#include "tools/cli/replay_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/replay_compare_text.h"
#include "tools/cli/short_names.h"
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

std::string count(std::uint64_t n) { return stats::format_count(static_cast<std::int64_t>(n)); }

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::matched:
      return "all match";
    case Verdict::mismatched:
      return "MISMATCH";
    case Verdict::compared:
      return "compared";
    case Verdict::nothing_to_check:
      return "nothing to check";
    case Verdict::skipped:
      return "skipped";
    case Verdict::inconsistent:
      return "inconsistent";
  }
  return "unknown";
}

std::string kind_text(const FileReport& report) {
  return report.kind ? std::string(stats::kind_name(*report.kind)) : "-";
}

void add_trace_row(Table& table, std::string name, const std::string& kind, const DeviceReplay& device,
                   stats::Units units) {
  std::vector<std::string> cells = {std::move(name), kind};
  if (device.run) {
    const Run& run = *device.run;
    cells.insert(cells.end(),
                 {count(run.allocations), count(run.matched), stats::format_bytes(run.peak_requested, units),
                  stats::format_bytes(run.peak_reserved, units), fmt::format("{:.3f}", run.fragmentation()),
                  run.options.tie_break == TieBreak::address ? "address" : "segment"});
  } else {
    cells.resize(8, "-");
  }
  cells.emplace_back(verdict_text(device.verdict));
  table.row(std::move(cells));
}

std::string trace_table(std::span<const FileReport> reports, const ShortNames& names, stats::Units units) {
  Table table({{"file"},
               {"kind"},
               {"allocations", Align::right},
               {"matched", Align::right},
               {"peak requested", Align::right},
               {"peak reserved", Align::right},
               {"F", Align::right},
               {"tie-break"},
               {"result"}});
  for (const FileReport& report : reports) {
    if (report.is_cases || report.compared) continue;
    for (const DeviceReplay& device : report.devices) {
      add_trace_row(table, names.of(report, device), kind_text(report), device, units);
    }
    if (!report.devices.empty()) continue;
    const std::string result = report.error.empty()           ? "nothing to check"
                               : report.exit == kExitBadInput ? "cannot be read"
                                                              : "not run";
    table.row({names.of(report), kind_text(report), "-", "-", "-", "-", "-", "-", result});
  }
  return table.empty() ? "" : table.text();
}

std::string case_table(std::span<const FileReport> reports, const ShortNames& names) {
  Table table({{"file"},
               {"kind"},
               {"cases", Align::right},
               {"pass", Align::right},
               {"known", Align::right},
               {"fail", Align::right},
               {"skip", Align::right},
               {"result"}});
  for (const FileReport& report : reports) {
    if (!report.is_cases) continue;
    const std::size_t failed = report.count(CaseOutcome::fail);
    const std::size_t skipped = report.count(CaseOutcome::skip);
    table.row({names.of(report), kind_text(report), count(report.cases.size()), count(report.count(CaseOutcome::pass)),
               count(report.count(CaseOutcome::known)), count(failed), count(skipped),
               failed != 0    ? "FAILED"
               : skipped != 0 ? "incomplete"
                              : "all pass"});
  }
  return table.empty() ? "" : table.text();
}

std::string totals(std::span<const FileReport> reports) {
  std::uint64_t checked = 0;
  std::uint64_t matched = 0;
  std::map<CaseOutcome, std::uint64_t> cases;
  std::uint64_t all_cases = 0;
  for (const FileReport& report : reports) {
    for (const DeviceReplay& device : report.devices) {
      if (!device.run) continue;
      checked += device.run->checked;
      matched += device.run->matched;
    }
    for (const CaseResult& result : report.cases) ++cases[result.outcome];
    all_cases += report.cases.size();
  }
  std::string text;
  if (checked != 0) {
    text += fmt::format("{} of {} addresses match      (F = peak reserved / peak requested)\n", count(matched),
                        count(checked));
  }
  if (all_cases != 0) {
    text += fmt::format("{} of {} cases pass, {} with known differences, {} fail, {} skipped\n",
                        count(cases[CaseOutcome::pass]), count(all_cases), count(cases[CaseOutcome::known]),
                        count(cases[CaseOutcome::fail]), count(cases[CaseOutcome::skip]));
  }
  return text;
}

std::string device_details(const std::string& name, const DeviceReplay& device, stats::Units units) {
  std::string text;
  if (device.verdict == Verdict::nothing_to_check) {
    text += fmt::format("{}: holds {} segments of {} in all, {} live blocks of {}; nothing checked\n", name,
                        count(device.segments), stats::format_bytes(device.reserved, units), count(device.live_blocks),
                        stats::format_bytes(device.allocated, units));
  } else if (device.verdict == Verdict::inconsistent) {
    text += fmt::format("{}: the file contradicts itself, so nothing was run", name);
    if (device.rewind_misses != 0) {
      text += fmt::format("; {} entries do not fit the segments", count(device.rewind_misses));
    }
    text += "\n";
    for (const std::string& reason : device.reasons) text += "  " + reason + "\n";
  } else {
    for (const std::string& reason : device.reasons) text += fmt::format("{}: {}\n", name, reason);
  }
  if (!device.run) return text;
  const Run& run = *device.run;
  if (run.first_mismatch) text += fmt::format("{}: first mismatch: {}\n", name, run.first_mismatch->text);
  if (run.releases_refused != 0) {
    text += fmt::format("{}: {} recorded segment releases do not fit our run\n", name, count(run.releases_refused));
  }
  if (run.foreign_uses != 0) {
    text += fmt::format("{}: {} blocks were used by other streams after the caller had freed them\n", name,
                        count(run.foreign_uses));
  }
  return text;
}

std::string case_details(const std::string& name, const FileReport& report) {
  std::string text;
  std::map<std::string, std::vector<std::string>> skipped;
  const auto add = [&](const CaseResult& result, const char* what, const Difference& d) {
    const std::string step = d.step ? fmt::format("step {} `{}`", *d.step, d.step_text) : "at load";
    text += fmt::format("{}: {}: {}: {}, {}: expected {}, got {}\n", name, result.name, what, step, d.key, d.expected,
                        d.got);
  };
  for (const CaseResult& result : report.cases) {
    if (result.failure) add(result, "FAILED", *result.failure);
    if (!result.failure && !result.known.empty()) add(result, "known", result.known.front());
    if (result.outcome == CaseOutcome::skip) skipped[result.reason].push_back(result.name);
  }
  for (const auto& [reason, cases] : skipped) {
    text += fmt::format("{}: {} skipped, {}: ", name, count(cases.size()), reason);
    text += fmt::format("{}\n", fmt::join(cases, ", "));
  }
  return text;
}

std::string details(const FileReport& report, const ShortNames& names, stats::Units units) {
  std::string text;
  const std::string name = names.of(report);
  for (const DeviceReplay& device : report.devices) text += device_details(names.of(report, device), device, units);
  text += case_details(name, report);
  for (const std::string& note : report.notes) text += fmt::format("{}: note: {}\n", name, note);
  return for_terminal(std::move(text));
}

}  // namespace

std::string replay_text(std::span<const FileReport> reports, stats::Units units) {
  // Each unreadable file has had its line on standard error; a table of nothing else would say no more.
  if (std::ranges::all_of(reports, [](const FileReport& report) { return report.exit == kExitBadInput; })) return {};
  const ShortNames names(reports);
  std::string text = trace_table(reports, names, units);
  if (const std::string compared = compare_text(reports, names, units); !compared.empty()) {
    text += (text.empty() ? "" : "\n") + compared;
  }
  if (const std::string cases = case_table(reports, names); !cases.empty()) text += (text.empty() ? "" : "\n") + cases;
  const std::string sum = totals(reports);
  if (!sum.empty()) text += "\n" + sum;
  std::string words;
  for (const FileReport& report : reports) words += details(report, names, units);
  if (!words.empty()) text += "\n" + words;
  return text;
}

}  // namespace quarry::tools
