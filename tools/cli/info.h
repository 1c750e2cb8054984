// `quarry info`: the backend taken, what it can do, and every option with its value and origin.
#pragma once

#include <CLI/CLI.hpp>

namespace quarry::tools {

// Adds the subcommand; when it is run its exit code goes to `exit_code`, which outlives `app`.
void add_info(CLI::App& app, int& exit_code);

}  // namespace quarry::tools
