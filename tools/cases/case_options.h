// The options a case runs with where it says nothing itself.
#pragma once

#include <string_view>

#include <quarry/allocator/options.h>
#include <quarry/allocator/result.h>

namespace quarry::tools {

// By the key of a policy: pytorch (with tie-break segment, as the answers were recorded), paged, paged+tight or
// paged+fast. Stated in full, so that no default counts.
Result<Options> case_options(std::string_view policy = "pytorch");

}  // namespace quarry::tools
