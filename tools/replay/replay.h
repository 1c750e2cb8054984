// Recordings run through our allocator (DESIGN.md section 9). Verify mode: from the state at the start, address for
// address. Compare mode: from an empty allocator, policy by policy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/options.h>
#include <quarry/allocator/sim/device.h>
#include <quarry/stats/packing.h>
#include <quarry/stats/trace.h>
#include "tools/replay/compare.h"
#include "tools/replay/mismatch.h"
#include "tools/replay/rewind.h"
#include "tools/replay/settings.h"
#include "tools/sim_backend.h"

namespace quarry::tools {

// `automatic` tries both and keeps the one with fewer mismatches.
enum class TieChoice : std::uint8_t { automatic, address, segment };

struct Run {
  Options options;
  std::uint64_t allocations = 0;  // the blocks that are there at the start are not counted
  std::uint64_t frees = 0;        // by the caller
  std::uint64_t ooms = 0;         // recorded ones
  Bytes peak_requested;           // both as the caller frees
  Bytes peak_allocated;
  Bytes peak_reserved;
  std::array<std::uint64_t, sim::kCallNames.size()> driver_calls{};  // for the trace, not for its start
  double driver_us = 0;                                              // of the simulated clock
  double ns_per_op = 0;                                              // real time per trace entry
  std::uint64_t checked = 0;
  std::uint64_t matched = 0;
  std::uint64_t guessed_pools = 0;
  std::uint64_t foreign_uses = 0;      // blocks that other streams held after the caller had freed them
  std::uint64_t releases_refused = 0;  // recorded segment releases that did not fit our run
  std::optional<Mismatch> first_mismatch;

  // F: peak reserved / peak requested.
  double fragmentation() const {
    return peak_requested.count ? static_cast<double>(peak_reserved.count) / static_cast<double>(peak_requested.count)
                                : 0;
  }
};

enum class Verdict : std::uint8_t {
  matched,
  mismatched,
  compared,
  nothing_to_check,  // no alloc entries
  skipped,           // needs what this version does not have
  inconsistent,      // segments and trace disagree: nothing was run
};

struct DeviceReplay {
  std::size_t device = 0;
  Verdict verdict = Verdict::nothing_to_check;
  std::vector<std::string> reasons;  // of a verdict other than matched and mismatched
  std::uint64_t rewind_misses = 0;
  std::uint64_t segments = 0;  // at the end of the recording
  Bytes reserved;
  std::uint64_t live_blocks = 0;
  Bytes allocated;
  std::optional<Run> run;            // of verify mode
  std::uint32_t streams = 0;         // of compare mode, as is what follows
  std::vector<CompareRun> compared;  // ranked
};

// `recorded` is how it was recorded, `options` what to run with; `device` is a valid index. Each run gets a backend of
// its own.
DeviceReplay replay_device(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                           const Options& options, TieChoice tie,
                           const MakeSimBackend& make_backend = plain_sim_backend);

// Every policy of the list; `options.base` is what to run with. A policy that cannot be run makes the verdict skipped.
DeviceReplay compare_device(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                            const std::vector<const PolicyEntry*>& policies, const CompareOptions& options);

// The same for a packing problem, its sizes times `scale`.
DeviceReplay compare_packing(const stats::PackingProblem& problem, std::uint64_t scale,
                             const std::vector<const PolicyEntry*>& policies, const CompareOptions& options);

// Every policy of the list; `options.base` is what to run with. A policy that cannot be run makes the verdict skipped.
DeviceReplay compare_device(const stats::Trace& trace, std::size_t device, const RecordedSettings& recorded,
                            const std::vector<const PolicyEntry*>& policies, const CompareOptions& options);

// The same for a packing problem, its sizes times `scale`.
DeviceReplay compare_packing(const stats::PackingProblem& problem, std::uint64_t scale,
                             const std::vector<const PolicyEntry*>& policies, const CompareOptions& options);

}  // namespace quarry::tools
