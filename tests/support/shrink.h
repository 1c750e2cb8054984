// Makes a failing program small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace quarry::oracle {

// The smallest program found that still fails: `operations` are dropped in chunks, then one by one, until none can go.
// `fails` gives the number of the failing operation plus one, 0 if all is well.
template <class Program, class Fails>
Program shrink(Program program, const Fails& fails) {
  auto& operations = program.operations;
  operations.resize(fails(program));
  for (std::size_t chunk = operations.size() / 2; chunk > 0;) {
    bool dropped = false;
    for (std::size_t at = 0; at < operations.size();) {
      Program fewer = program;
      const auto from = fewer.operations.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t count = std::min(chunk, operations.size() - at);
      fewer.operations.erase(from, from + static_cast<std::ptrdiff_t>(count));
      if (const std::size_t end = fails(fewer); end > 0) {
        fewer.operations.resize(end);
        program = std::move(fewer);
        dropped = true;
      } else {
        at += chunk;
      }
    }
    if (!dropped || chunk > 1) chunk /= 2;
  }
  return program;
}

}  // namespace quarry::oracle
