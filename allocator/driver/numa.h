// Memory nodes of this machine, asked of the kernel itself: no library is needed.
#pragma once

#include <string_view>
#include <vector>

#include <quarry/allocator/driver/driver.h>

namespace quarry {

// The kernel's lists, "0-3,8". Empty for a text that is none, or with a number of 1024 and more.
std::vector<unsigned> parse_node_list(std::string_view text);

// Nodes that have memory; empty where the kernel does not say.
std::vector<unsigned> memory_nodes();

// Pages of the range that nobody has touched yet will be spread evenly over the nodes. Whole operating-system pages.
DriverStatus interleave(Address base, Bytes size, const std::vector<unsigned>& nodes);

}  // namespace quarry
