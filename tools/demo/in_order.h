// Steps that may fail, one after the other.
#pragma once

#include <functional>
#include <initializer_list>

#include <quarry/allocator/result.h>

namespace quarry::tools {

// Runs the steps until one fails; returns its error.
inline Status in_order(std::initializer_list<std::function<Status()>> steps) {
  for (const std::function<Status()>& step : steps) {
    if (Status done = step(); !done) return done;
  }
  return Done{};
}

}  // namespace quarry::tools
