// Compare mode for people: a ranked table per trace, or one table of all traces for a document.
#pragma once

#include <span>
#include <string>

#include <quarry/stats/summary.h>

#include "tools/cli/replay_file.h"
#include "tools/cli/short_names.h"

namespace quarry::tools {

// Of the reports in compare mode; empty if there are none.
std::string compare_text(std::span<const FileReport> reports, const ShortNames& names, stats::Units units);

// GitHub's Markdown: a row per trace that was compared, the bound in MiB, and a column per policy with F. The policies
// are those of the request, in its order; `bound` is the second column and no other.
std::string compare_markdown(std::span<const FileReport> reports, std::span<const PolicyEntry* const> policies);

}  // namespace quarry::tools
