// One file of `quarry replay`: found out, read, run. Text and JSON are made from what comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <quarry/stats/read.h>

#include "tools/cases/known.h"
#include "tools/cases/run.h"
#include "tools/replay/replay.h"

namespace quarry::tools {

// What compare mode is asked for.
struct CompareRequest {
  std::vector<const PolicyEntry*> policies;
  std::uint32_t repeat = 1;
  std::optional<std::uint64_t> scale;  // --scale; nothing = found from the problem
};

struct ReplayRequest {
  bool verify = true;  // false: traces are compared too, not only packing problems
  CompareRequest compare;
  std::string policy = "pytorch";  // of cases: one that case_options knows; empty: cases are not asked for
  std::vector<std::string> sets;
  std::optional<TieChoice> tie;       // --tie-break
  std::optional<std::size_t> device;  // --trace-device
  KnownDifferences known;
};

struct FileReport {
  std::string file;  // as given
  std::optional<stats::FileKind> kind;
  int exit = 0;
  std::uint64_t skipped_actions = 0;
  std::uint64_t skipped_keys = 0;
  bool compared = false;              // in compare mode
  std::uint64_t scale = 1;            // of the sizes of a packing problem
  std::vector<DeviceReplay> devices;  // of a trace or a packing problem
  bool is_cases = false;
  std::vector<CaseResult> cases;
  std::vector<std::string> notes;  // for people
  std::string error;               // one line; not empty when nothing could be run

  std::uint64_t rewind_misses() const;
  std::size_t count(CaseOutcome outcome) const;
};

// Never fails: what goes wrong is in the report.
FileReport replay_file(const std::string& path, const ReplayRequest& request);

}  // namespace quarry::tools
