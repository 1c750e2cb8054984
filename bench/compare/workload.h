// What the subjects of bench_compare run: a list of operations made beforehand, the same for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/result.h>
#include <quarry/allocator/types.h>

namespace quarry::bench {

struct Operation {
  std::uint64_t bytes = 0;  // as requested; of a free: of the request whose block it frees
  std::uint32_t slot = 0;   // where the pointer is kept
  bool frees = false;
};

// `before` and `after` are not timed. All three together free each block once and leave nothing live.
struct Workload {
  std::vector<Operation> before;
  std::vector<Operation> operations;
  std::vector<Operation> after;
  std::uint32_t slots = 0;

  // The timed list begins and ends with nothing live, so it may run again and again.
  bool closed() const { return before.empty() && after.empty(); }
};

// `pairs` times: a block of `size` is allocated and freed.
Workload hot_pair(Bytes size, std::size_t pairs);

// `depth` blocks of `size` are allocated, then freed in the opposite order.
Workload last_in_first_out(Bytes size, std::uint32_t depth);

// RMM's random workload (reference/performance.md section 5): `count` allocations of 1 byte to `largest`, `count`
// frees, at most 16,000 MiB live.
Workload random_allocations(std::uint32_t count, Bytes largest);

// The requests and frees of a recorded trace, as fast as they go; `before` is what was live at its start. A block that
// another stream still used counts as freed when the caller freed it. Fails on what it cannot read, on a trace that
// contradicts itself, and on one with several devices, streams or pools.
Result<Workload> trace_workload(const std::string& path);

// Keeps the first `most` timed operations.
void shorten(Workload& workload, std::size_t most);

// Sets `after` to the frees of what `before` and `operations` leave live, in the order of the slots.
void close(Workload& workload);

}  // namespace quarry::bench
