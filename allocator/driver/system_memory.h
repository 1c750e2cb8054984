// What the operating system says about memory.
#pragma once

#include <quarry/allocator/driver/driver.h>

namespace quarry {

Bytes system_page_size();

// total: the machine's memory; free: what programs can get without swapping. Both at most what this process's limit on
// address space (RLIMIT_AS) leaves.
MemoryInfo system_memory();

}  // namespace quarry
