// Compare mode: one workload run through one policy, from an empty allocator on a simulated device (DESIGN.md section
// 9). The device has 2 MiB granularity and pages, addresses of its own layout, the cost profile a100 and nothing behind
// its addresses.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/options.h>
#include <quarry/allocator/sim/device.h>
#include "tools/replay/policy_table.h"
#include "tools/replay/workload.h"

namespace quarry::tools {

using CallCounts = std::array<std::uint64_t, sim::kCallNames.size()>;

struct CompareOptions {
  Options base{};               // of the recording and the caller; each policy changes what it stands for
  std::uint32_t repeat = 1;     // iterations of the window
  std::uint32_t event_lag = 0;  // all streams run so many requests behind the host; 0 = work is done at once
  Bytes capacity = kUnlimited;  // of the device
  std::chrono::milliseconds packing_budget{3000};
};

// The first one begins with an empty allocator and contains the initial live set; every later one contains the way back
// from the end of the window to its beginning (Workload::rewind).
struct CompareIteration {
  CallCounts driver_calls{};
  double driver_us = 0;  // of the simulated clock; with an event lag, waits for the device are in it
  double ns_per_op = 0;  // processor time per step, the simulated driver's own work included
  Bytes peak_reserved{};
};

struct CompareRun {
  std::string_view policy;           // key
  std::optional<Options> options{};  // of our allocator; none for the peers and what is computed
  std::string note{};                // a line on how it came about; may be empty
  std::uint64_t allocations = 0;     // in all iterations; the initial live set and the way back are not counted
  std::uint64_t frees = 0;           // by the caller, the same
  std::uint64_t ooms = 0;            // requests that were refused here
  Bytes peak_requested{};            // as the caller frees; the same for all policies
  Bytes peak_requested_active{};     // until other streams have done with it
  Bytes peak_allocated{};            // at block size, as the caller frees
  // Pages and segments got from the driver. `packed`: the height in whole pages of 2 MiB. `bound`: peak_requested.
  Bytes peak_reserved{};
  std::vector<CompareIteration> iterations{};  // empty for `packed` and `bound`

  // F, and the same against peak_requested_active; 0 where nothing was requested.
  double fragmentation() const;
  double fragmentation_active() const;
  // Over all iterations.
  CallCounts driver_calls() const;
  double driver_us() const;
  double ns_per_op() const;
};

// Errors are `invalid`: an unknown key, a workload that is out of bounds (check_workload); `unsupported`: used_on steps
// with an event lag in a peer, which has no pending frees; and what opening the allocator fails with.
// Deterministic, but for ns_per_op, and for `packed` where the time runs out.
Result<CompareRun> run_policy(const Workload& workload, std::string_view key, const CompareOptions& options = {});

// What a simulation can hold: 8 TiB at once and 4,096 streams.
Status check_workload(const Workload& workload);

// By peak reserved, the lowest first; of equals the earlier policy of the table.
void rank(std::vector<CompareRun>& runs);

}  // namespace quarry::tools
