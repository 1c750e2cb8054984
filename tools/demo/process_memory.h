// What the operating system says this process has in memory.
#pragma once

#include <quarry/allocator/result.h>
#include <quarry/allocator/types.h>

namespace quarry::tools {

struct ProcessMemory {
  Bytes resident;      // RSS: pages in memory that are mapped here, whoever else maps them
  Bytes proportional;  // PSS: the same, a page that n processes map counted as 1/n
  Bytes unique;        // USS: pages that nobody else maps
};

// From /proc/self/smaps_rollup of Linux (proc(5)); multiples of 1 KiB. An error where the file is not there or lacks a
// line. Any thread.
Result<ProcessMemory> read_process_memory();

}  // namespace quarry::tools
