#include "tools/cli/replay_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <quarry/stats/packing.h>

#include "tools/cases/case.h"
#include "tools/cli/conf.h"
#include "tools/cli/exit_code.h"
#include "tools/replay/settings.h"

namespace quarry::tools {
namespace {

using stats::FileKind;

FileReport& fail(FileReport& report, int exit, std::string error) {
  report.exit = exit;
  report.error = std::move(error);
  return report;
}

int exit_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::matched:
    case Verdict::compared:
    case Verdict::nothing_to_check:
      return kExitDone;
    case Verdict::mismatched:
      return kExitMismatch;
    case Verdict::skipped:
    case Verdict::inconsistent:
      return kExitIncomplete;
  }
  return kExitIncomplete;
}

TieChoice tie_choice(const ReplayRequest& request, const Options& options) {
  if (request.tie) return *request.tie;
  if (origin_of(options, "tie_break") == Origin::default_value) return TieChoice::automatic;
  return options.tie_break == TieBreak::address ? TieChoice::address : TieChoice::segment;
}

void note_skipped(const stats::Trace& trace, FileReport& report) {
  report.skipped_actions = trace.skipped_actions;
  report.skipped_keys = trace.skipped_keys;
  if (trace.skipped_actions + trace.skipped_keys == 0) return;
  report.notes.push_back(fmt::format("{} entries with unknown actions and {} unknown keys were skipped: {}",
                                     trace.skipped_actions, trace.skipped_keys, fmt::join(trace.skipped_names, ", ")));
}

bool holds_something(const stats::DeviceTrace& device) { return !device.entries.empty() || !device.segments.empty(); }

CompareOptions compare_options(const ReplayRequest& request, const Options& base) {
  CompareOptions options;
  options.base = base;
  options.repeat = request.compare.repeat;
  if (request.tie && *request.tie != TieChoice::automatic) {
    options.base.tie_break = *request.tie == TieChoice::address ? TieBreak::address : TieBreak::segment;
  }
  return options;
}

DeviceReplay replay_one(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                        const Options& options, const ReplayRequest& request) {
  if (request.verify) return replay_device(trace, device, recorded, options, tie_choice(request, options));
  return compare_device(trace, device, recorded, request.compare.policies, compare_options(request, options));
}

void replay_trace(const stats::Trace& trace, const ReplayRequest& request, FileReport& report) {
  report.compared = !request.verify;
  if (request.compare.scale) report.notes.push_back("--scale is not applied: it is for packing problems");
  note_skipped(trace, report);
  const RecordedSettings recorded = recorded_settings(trace.settings);
  std::ranges::copy(recorded.notes, std::back_inserter(report.notes));
  const Result<Options> options = effective_options(recorded.options, request.sets);
  if (!options) {
    fail(report, kExitUsage, options.error().message);
    return;
  }
  const Options applied = without_limits(*options, report.notes);
  if (request.device && *request.device >= trace.devices.size()) {
    fail(report, kExitUsage,
         fmt::format("{}: --trace-device {}: the trace has {} devices", report.file, *request.device,
                     trace.devices.size()));
    return;
  }
  for (std::size_t device = 0; device < trace.devices.size(); ++device) {
    const bool wanted = request.device ? *request.device == device : holds_something(trace.devices[device]);
    if (!wanted) continue;
    DeviceReplay replay = replay_one(trace, device, recorded, applied, request);
    report.exit = worse_exit(report.exit, exit_of(replay.verdict));
    report.devices.push_back(std::move(replay));
  }
  if (report.devices.empty()) report.notes.push_back("the file holds no segments and no entries: nothing to check");
}

// Problems are often given in units of their own. Where everything together is less than one page of a GPU, only
// rounding could be seen, and 1 KiB stands for a page of 2 MiB.
std::uint64_t find_scale(const stats::PackingProblem& problem) {
  constexpr std::uint64_t kPageForKibibyte = 2048;
  const Result<Workload> workload = make_workload(problem, 1);
  return workload && workload->peak_requested < Bytes{2ull << 20} ? kPageForKibibyte : 1;
}

void replay_packing(const stats::PackingProblem& problem, const ReplayRequest& request, FileReport& report) {
  report.compared = true;
  const Result<Options> options = effective_options({}, request.sets);
  if (!options) {
    fail(report, kExitUsage, options.error().message);
    return;
  }
  const Options applied = without_limits(*options, report.notes);
  report.scale = request.compare.scale ? *request.compare.scale : find_scale(problem);
  if (report.scale != 1) report.notes.push_back(fmt::format("every size is multiplied by {}", report.scale));
  if (problem.empty != 0) report.notes.push_back(fmt::format("{} rows of no bytes are left out", problem.empty));
  if (!problem.skipped_columns.empty()) {
    report.notes.push_back(fmt::format("columns not read: {}", fmt::join(problem.skipped_columns, ", ")));
  }
  DeviceReplay replay =
      compare_packing(problem, report.scale, request.compare.policies, compare_options(request, applied));
  report.exit = exit_of(replay.verdict);
  report.devices.push_back(std::move(replay));
}

void replay_cases(const std::vector<Case>& cases, const ReplayRequest& request, FileReport& report) {
  report.is_cases = true;
  if (!request.sets.empty()) report.notes.push_back("--set is not applied: cases bring their own options");
  const Options base = *case_options(request.policy);
  for (const Case& one : cases) report.cases.push_back(run_case(one, request.known, plain_sim_backend, base));
  if (report.count(CaseOutcome::skip) != 0) report.exit = kExitIncomplete;
  if (report.count(CaseOutcome::fail) != 0) report.exit = kExitMismatch;
  for (const KnownDifference& unused : unused_known(request.known, report.cases)) {
    report.notes.push_back(fmt::format("the known difference of line {} did not show", unused.line));
  }
}

}  // namespace

std::uint64_t FileReport::rewind_misses() const {
  std::uint64_t misses = 0;
  for (const DeviceReplay& device : devices) misses += device.rewind_misses;
  return misses;
}

std::size_t FileReport::count(CaseOutcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count(cases, outcome, &CaseResult::outcome));
}

FileReport replay_file(const std::string& path, const ReplayRequest& request) {
  FileReport report;
  report.file = path;
  const Result<FileKind> kind = stats::detect_kind(path);
  if (!kind) return fail(report, kExitBadInput, kind.error().message);
  report.kind = *kind;
  switch (*kind) {
    case FileKind::pytorch_pickle:
    case FileKind::pytorch_json: {
      const Result<stats::Trace> trace = stats::read_snapshot(path);
      if (!trace) return fail(report, kExitBadInput, trace.error().message);
      replay_trace(*trace, request, report);
      return report;
    }
    case FileKind::case_json:
    case FileKind::case_ops: {
      if (request.policy.empty())
        return fail(report, kExitUsage, path + ": cases are run step by step, they are not compared");
      const Result<std::vector<Case>> cases = read_cases(path);
      if (!cases) return fail(report, kExitBadInput, cases.error().message);
      replay_cases(*cases, request, report);
      return report;
    }
    case FileKind::packing_csv: {
      const Result<stats::PackingProblem> problem = stats::read_packing(path);
      if (!problem) return fail(report, kExitBadInput, problem.error().message);
      replay_packing(*problem, request, report);
      return report;
    }
    case FileKind::unknown:
      return fail(report, kExitBadInput, path + ": neither a snapshot, nor a case file, nor a packing problem");
    case FileKind::profiler_json:
    case FileKind::memory_timeline:
    case FileKind::rmm_csv:
    case FileKind::bfc_log:
      break;
  }
  return fail(report, kExitBadInput,
              fmt::format("{}: this is a {}, which this version does not read yet", path, stats::kind_name(*kind)));
}

}  // namespace quarry::tools
