// This process's own pageable memory behind the driver seam.
#pragma once

#include <memory>

#include <quarry/allocator/driver/driver.h>

namespace quarry {

// Segments are anonymous mappings in whole operating-system pages, aligned to 2 MiB from 2 MiB on. A size above what
// the machine has available at that instant is out_of_memory. allocate_host gives the same memory: it is not
// page-locked. register_host locks pages (mlock) as far as the process may; two ranges must not share a page. Codes
// are errno. Memory that was not released goes back when the driver is destroyed.
//
// Mapping: pages are ranges of a memory file (memfd), so that aliases share their bytes, in multiples of the
// operating-system page; reservations are aligned to 2 MiB. PageOptions change nothing. No ordering.
std::shared_ptr<Driver> make_host_driver();

}  // namespace quarry
