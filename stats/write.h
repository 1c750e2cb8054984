// Writing a trace as a PyTorch memory snapshot that the web viewer and our own reader take.
#pragma once

#include <string>

#include <quarry/allocator/result.h>
#include <quarry/stats/trace.h>

namespace quarry::stats {

// JSON with PyTorch's keys (reference/snapshot_format.md); pools and stacks included.
std::string to_snapshot_json(const Trace& trace);
// Pickle protocol 4, only opcodes the web viewer knows.
std::string to_snapshot_pickle(const Trace& trace);

// Writes to a temporary file beside `path` and renames it.
Status write_file(const std::string& path, std::string_view content);

}  // namespace quarry::stats
