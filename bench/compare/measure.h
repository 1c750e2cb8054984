// Runs one workload on several subjects in turn and keeps the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <quarry/allocator/result.h>

#include "bench/compare/subject.h"
#include "bench/compare/workload.h"

namespace quarry::bench {

struct Effort {
  std::size_t rounds = 15;
  std::size_t operations = 20'000;                                // a round runs a closed list as often as this takes
  std::size_t longest = std::numeric_limits<std::size_t>::max();  // lists are cut to this
};

// Nanoseconds of processor time per operation, which is one allocation or one free.
struct Figure {
  std::string_view subject;
  double cold_ns = 0;  // the first round, with an empty cache; not among the others
  double min_ns = 0;
  double median_ns = 0;
  double max_ns = 0;
  Books books;
  std::vector<CallCount> driver_calls;
};

// In every round each subject runs the list in turn; an allocator lives through all rounds, and each round ends with
// nothing live. Subjects that this build does not have are left out. Fails if a request is refused, or if a subject's
// own books do not show what was asked of it.
Result<std::vector<Figure>> measure(Workload workload, const std::vector<std::string_view>& subjects,
                                    const Effort& effort);

// For callgrind: `subject` runs the list once unmeasured and then measured, as one round would. The operations
// measured.
Result<std::uint64_t> run_once(Workload workload, std::string_view subject, const Effort& effort);

}  // namespace quarry::bench
