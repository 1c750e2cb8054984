// The report of `quarry replay --json`: one object, versioned (DESIGN.md section 10). Sizes in bytes, addresses as
// numbers.
#pragma once

#include <span>
#include <string>

#include "tools/cli/replay_file.h"

namespace quarry::tools {

std::string replay_json(std::span<const FileReport> reports);

}  // namespace quarry::tools
