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
                               const ReplayTally& tally) {
  Result<std::unique_ptr<Player>> player = Player::open(program, start, options);
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

Result<Run> run_once(const Program& program, const Rewound& start, const Options& options) {
  using Clock = std::chrono::steady_clock;
  Result<std::unique_ptr<Player>> opened = Player::open(program, start, options);
  if (!opened) return opened.error();
  Player& player = **opened;
  const Clock::time_point begin = Clock::now();
  player.run_to(program.ops.size());
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  const ReplayTally& tally = player.tally();

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
  if (tally.first_mismatch) {
    Result<Mismatch> mismatch = find_mismatch(program, start, options, tally);
    if (!mismatch) return mismatch.error();
    run.first_mismatch = *std::move(mismatch);
  }
  return run;
}

Result<Run> run_with(const Program& program, const Rewound& start, Options options, TieBreak tie_break) {
  options.tie_break = tie_break;
  return run_once(program, start, options);
}

Result<Run> run_best(const Program& program, const Rewound& start, const Options& options, TieChoice tie) {
  if (tie == TieChoice::address) return run_with(program, start, options, TieBreak::address);
  Result<Run> by_segment = run_with(program, start, options, TieBreak::segment);
  if (tie == TieChoice::segment || !by_segment || !by_segment->first_mismatch) return by_segment;
  Result<Run> by_address = run_with(program, start, options, TieBreak::address);
  if (!by_address) return by_address;
  return by_address->matched > by_segment->matched ? std::move(by_address) : std::move(by_segment);
}

}  // namespace

DeviceReplay replay_device(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                           const Options& options, TieChoice tie) {
  const stats::DeviceTrace& what = trace.devices[device];
  DeviceReplay replay;
  replay.device = device;
  const auto end_as = [&](Verdict verdict, std::vector<std::string> reasons) {
    replay.verdict = verdict;
    replay.reasons = std::move(reasons);
    return replay;
  };
  if (std::vector<std::string> problems = segment_problems(what); !problems.empty()) {
    return end_as(Verdict::inconsistent, std::move(problems));
  }
  describe(what, replay);
  if (!has_allocations(what)) return end_as(Verdict::nothing_to_check, {"no alloc entries: nothing to check"});
  const Rewound start = rewind(trace, device, recorded.options);
  replay.rewind_misses = start.misses;
  if (!start.consistent()) return end_as(Verdict::inconsistent, start.problems);
  if (start.expandable) {
    return end_as(Verdict::skipped, {"begins in mid-run with expandable segments, whose reservations are not known"});
  }
  const Program program = make_program(what, start);
  Result<Run> run = run_best(program, start, options, tie);
  // The device takes any addresses that do not overlap and do not leave its address space.
  if (!run) return end_as(Verdict::inconsistent, {"the start cannot be set up: " + run.error().message});
  replay.verdict = run->first_mismatch || run->releases_refused != 0 ? Verdict::mismatched : Verdict::matched;
  replay.run = *std::move(run);
  return replay;
}

}  // namespace quarry::tools
