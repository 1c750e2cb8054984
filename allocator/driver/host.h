// This process's own pageable memory behind the driver seam.
#pragma once

#include <memory>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/options.h>

namespace quarry {

struct HostDriverOptions {
  bool mapping = true;      // false: mapping() is null, every segment is private anonymous memory
  bool huge_pages = false;  // asks for them (madvise) in segments of 2 MiB and more; whether they come is the kernel's
  HostNuma numa = HostNuma::first_touch;  // of segments
};

// Segments are private anonymous mappings in whole operating-system pages, aligned to 2 MiB from 2 MiB on: after a fork
// each process has its own bytes. A size above what the machine has available at that instant is out_of_memory.
// allocate_host gives the same memory: it is not page-locked. register_host locks pages (mlock) as far as the process
// may; two ranges must not share a page. Codes are errno. Memory that was not released goes back when the driver is
// destroyed. Capabilities::name says what huge pages and nodes were asked for.
//
// Mapping: pages are ranges of a memory file (memfd), so that aliases share their bytes, in multiples of the
// operating-system page; reservations are aligned to 2 MiB. A forked child shares these bytes with its parent, which is
// why open_host does without. PageOptions change nothing. No ordering.
std::shared_ptr<Driver> make_host_driver(const HostDriverOptions& options = {});

}  // namespace quarry
