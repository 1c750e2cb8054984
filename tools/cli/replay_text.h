// The report of `quarry replay` for people: a row per file, a line that sums up, then what needs words.
#pragma once

#include <span>
#include <string>

#include <quarry/stats/summary.h>

#include "tools/cli/replay_file.h"

namespace quarry::tools {

std::string replay_text(std::span<const FileReport> reports, stats::Units units);

}  // namespace quarry::tools
