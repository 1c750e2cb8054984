// The errors of this folder: one line each, naming the operation, the values and the rule.
#pragma once

#include <string>
#include <utility>

#include <quarry/allocator/result.h>

namespace quarry {

inline Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message), 0}; }
inline Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message), 0}; }

}  // namespace quarry
