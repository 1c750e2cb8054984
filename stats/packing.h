// Static packing problems: which buffers live when, and how large they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/result.h>
#include <quarry/allocator/types.h>

namespace quarry::stats {

// Lives in [lower, upper).
struct PackingBuffer {
  std::uint64_t id = 0;
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
  Bytes size;
};

struct PackingProblem {
  std::vector<PackingBuffer> buffers;        // in the order of their ids
  std::uint64_t empty = 0;                   // rows of no bytes, left out
  std::vector<std::string> skipped_columns;  // of the header, not read
};

// A reader takes no more rows than this.
inline constexpr std::uint64_t kMaxPackingBuffers = 1 << 20;

// Reads a CSV whose header names the columns lower, upper and size, plain or gzip. Where a column `id` holds only whole
// numbers they give the order, otherwise the rows do. Memory is bounded by the number of rows, and that is bounded.
// Errors are ErrorCode::invalid with one line: `FILE: at byte N: rule`. All sizes together are below 2^63.
Result<PackingProblem> read_packing(const std::string& path);

}  // namespace quarry::stats
