// Opening a file of unknown kind. Every file is treated as hostile: bounded memory and time, never a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <quarry/allocator/result.h>
#include <quarry/stats/trace.h>

namespace quarry::stats {

// What the content says, whatever the name says. gzip is looked through.
enum class FileKind : std::uint8_t {
  pytorch_pickle,
  pytorch_json,
  case_json,        // recorded conformance cases: handled by tools/cases
  case_ops,         // .ops script: handled by tools/cases
  profiler_json,    // known by name, not read yet
  memory_timeline,  // "
  rmm_csv,          // "
  packing_csv,      // a static packing problem: read_packing (packing.h)
  bfc_log,          // "
  unknown,
};
std::string_view kind_name(FileKind kind);

// Errors are ErrorCode::invalid with one line: `FILE: at byte N: rule`. Refuses what is not a regular file, without
// blocking on it.
Result<FileKind> detect_kind(const std::string& path);

// Reads a PyTorch snapshot: pickle protocol 2 to 5 or JSON, plain or gzip, every schema age. One pass; memory is a
// small multiple of the unpacked file. Unknown keys and actions are skipped and counted.
Result<Trace> read_snapshot(const std::string& path);

// The whole content, unpacked; refused above `limit` bytes. For case files.
Result<std::string> read_text(const std::string& path, std::uint64_t limit);

}  // namespace quarry::stats
