// The cases of bench_compare by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/compare/workload.h"

namespace quarry::bench {

struct Case {
  std::string name;
  std::function<Result<Workload>()> make;
};

// Hot pairs, last in first out, RMM's random workload, and traces of tests/data.
std::vector<Case> all_cases();

// A trace by the name of its file.
Case trace_case(const std::string& path);

}  // namespace quarry::bench
