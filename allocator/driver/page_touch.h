// Getting pages from the operating system before they are needed.
#pragma once

#include <cstdint>

#include <quarry/allocator/types.h>

namespace quarry {

// Writes a zero to every operating-system page of fresh memory, in up to `threads` threads of at least 256 pages each.
// Where the system gives no more threads, the caller's does the rest.
void touch_pages(Address base, Bytes size, std::uint32_t threads);

}  // namespace quarry
