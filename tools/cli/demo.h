// `quarry demo`: tensor memory shown step by step, with measured numbers and what they mean.
#pragma once

#include <CLI/CLI.hpp>

namespace quarry::tools {

void add_demo(CLI::App& app, int& exit_code);

}  // namespace quarry::tools
