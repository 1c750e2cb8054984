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

struct ReplayRequest {
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
  std::vector<DeviceReplay> devices;  // of a trace
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
