// `quarry replay`: recordings and case files run through our allocator and compared.
#pragma once

#include <CLI/CLI.hpp>

namespace quarry::tools {

// Adds the subcommand; when it is run its exit code goes to `exit_code`, which outlives `app`.
void add_replay(CLI::App& app, int& exit_code);

}  // namespace quarry::tools
