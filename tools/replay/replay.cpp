#include "tools/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include "tools/replay/player.h"
#include "tools/replay/program.h"
#include "tools/replay/rewind.h"

namespace quarry::tools {
namespace {

using stats::TraceAction;
using stats::TraceEntry;

bool has_allocations(const stats::DeviceTrace& device) {
  return std::ranges::find(device.entries, TraceAction::alloc, &TraceEntry::action) != device.entries.end();
}

void describe(const stats::DeviceTrace& device, DeviceReplay& into) {
  into.segments = device.segments.size();
  for (const stats::TraceSegment& segment : device.segments) {
    into.reserved += segment.total_size;
    for (const stats::TraceBlock& block : segment.blocks) {
      if (block.state != BlockState::live) continue;
      ++into.live_blocks;
      into.allocated += block.size;
    }
  }
}

// The run is repeated up to the request that parted from the recording, to look at the heap around it.
Result<Mismatch> find_mismatch(const Program& program, const Rewound& start, const Options& options,
                               const MakeSimBackend& make_backend, const ReplayTally& tally) {
  Result<std::unique_ptr<Player>> player = Player::open(program, start, options, make_backend);
  if (!player) return player.error();
  HeapStates heap;
  (*player)->run_to(*tally.first_mismatch);
  heap.before = (*player)->snapshot();
  (*player)->run_to(*tally.first_mismatch + 1);
  heap.after = (*player)->snapshot();
  const Op& op = program.ops[*tally.first_mismatch];
  const std::uint64_t handle = start.state.streams[static_cast<std::size_t>(op.stream)];
  return explain_mismatch(op, handle, tally.first_chosen, heap, program.grown);
}

Result<Run> run_once(const Program& program, const Rewound& start, const Options& options,
                     const MakeSimBackend& make_backend) {
  using Clock = std::chrono::steady_clock;
  Result<std::unique_ptr<Player>> opened = Player::open(program, start, options, make_backend);
  if (!opened) return opened.error();
  Player& player = **opened;
  const Clock::time_point begin = Clock::now();
  player.run_to(program.ops.size());
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  const ReplayTally tally = player.tally();

  Run run;
  run.options = options;
  run.allocations = run.checked = program.allocations;
  run.frees = program.frees;
  run.ooms = program.ooms;
  run.peak_requested = program.peak_requested;
  run.peak_allocated = tally.peak_allocated;
  run.peak_reserved = player.peak_reserved();
  run.driver_calls = player.driver_calls();
  run.driver_us = player.driver_us();
  run.ns_per_op = took.count() / static_cast<double>(std::max<std::uint64_t>(program.entries, 1));
  run.matched = tally.matched;
  run.guessed_pools = start.guessed_pools;
  run.foreign_uses = program.foreign_uses;
  run.releases_refused = tally.releases_refused;
  opened->reset();  // before the next run opens a backend
  if (tally.first_mismatch) {
    Result<Mismatch> mismatch = find_mismatch(program, start, options, make_backend, tally);
    if (!mismatch) return mismatch.error();
    run.first_mismatch = *std::move(mismatch);
  }
  return run;
}

Result<Run> run_best(const Program& program, const Rewound& start, const Options& options, TieChoice tie,
                     const MakeSimBackend& make_backend) {
  const auto run_with = [&](TieBreak tie_break) {
    Options chosen = options;
    chosen.tie_break = tie_break;
    return run_once(program, start, chosen, make_backend);
  };
  if (tie == TieChoice::address) return run_with(TieBreak::address);
  Result<Run> by_segment = run_with(TieBreak::segment);
  if (tie == TieChoice::segment || !by_segment || !by_segment->first_mismatch) return by_segment;
  Result<Run> by_address = run_with(TieBreak::address);
  if (!by_address) return by_address;
  return by_address->matched > by_segment->matched ? std::move(by_address) : std::move(by_segment);
}

DeviceReplay& end_as(DeviceReplay& replay, Verdict verdict, std::vector<std::string> reasons) {
  replay.verdict = verdict;
  replay.reasons = std::move(reasons);
  return replay;
}

// The state to start from; nothing, with the verdict set, where the trace holds nothing to run or contradicts itself.
std::optional<Rewound> find_start(const stats::Trace& trace, const RecordedSettings& recorded, DeviceReplay& replay) {
  const stats::DeviceTrace& what = trace.devices[replay.device];
  if (std::vector<std::string> problems = segment_problems(what); !problems.empty()) {
    end_as(replay, Verdict::inconsistent, std::move(problems));
    return std::nullopt;
  }
  describe(what, replay);
  if (!has_allocations(what)) {
    end_as(replay, Verdict::nothing_to_check, {"no alloc entries: nothing to check"});
    return std::nullopt;
  }
  Rewound start = rewind(trace, replay.device, recorded.options);
  replay.rewind_misses = start.misses;
  if (start.consistent()) return start;
  end_as(replay, Verdict::inconsistent, start.problems);
  return std::nullopt;
}

DeviceReplay& compare(const Workload& workload, const std::vector<const PolicyEntry*>& policies,
                      const CompareOptions& options, DeviceReplay& replay) {
  replay.streams = workload.streams;
  for (const PolicyEntry* policy : policies) {
    Result<CompareRun> run = run_policy(workload, policy->key, options);
    if (!run) return end_as(replay, Verdict::skipped, {fmt::format("{}: {}", policy->key, run.error().message)});
    replay.compared.push_back(*std::move(run));
  }
  rank(replay.compared);
  return end_as(replay, Verdict::compared, {});
}

}  // namespace

DeviceReplay replay_device(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                           const Options& options, TieChoice tie, const MakeSimBackend& make_backend) {
  DeviceReplay replay;
  replay.device = device;
  const std::optional<Rewound> start = find_start(trace, recorded, replay);
  if (!start) return replay;
  if (start->expandable) {
    return end_as(replay, Verdict::skipped,
                  {"begins in mid-run with expandable segments, whose reservations are not known"});
  }
  const Program program = make_program(trace.devices[device], *start);
  Result<Run> run = run_best(program, *start, options, tie, make_backend);
  // The device takes any addresses that do not overlap and do not leave its address space.
  if (!run) return end_as(replay, Verdict::inconsistent, {"the start cannot be set up: " + run.error().message});
  replay.verdict = run->first_mismatch || run->releases_refused != 0 ? Verdict::mismatched : Verdict::matched;
  replay.run = *std::move(run);
  return replay;
}

DeviceReplay compare_device(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                            const std::vector<const PolicyEntry*>& policies, const CompareOptions& options) {
  DeviceReplay replay;
  replay.device = device;
  const std::optional<Rewound> start = find_start(trace, recorded, replay);
  if (!start) return replay;
  return compare(make_workload(make_program(trace.devices[device], *start), *start), policies, options, replay);
}

DeviceReplay compare_packing(const stats::PackingProblem& problem, std::uint64_t scale,
                             const std::vector<const PolicyEntry*>& policies, const CompareOptions& options) {
  DeviceReplay replay;
  const Result<Workload> workload = make_workload(problem, scale);
  if (!workload) return end_as(replay, Verdict::skipped, {workload.error().message});
  return compare(*workload, policies, options, replay);
}

}  // namespace quarry::tools
