// Numbers as people read them, for messages. Machine output is bytes.
#pragma once

#include <string>

#include <quarry/allocator/types.h>

namespace quarry {

// "512 B", "2.00 MiB", "79.15 GiB": the largest binary unit that leaves at least 1.
std::string to_text(Bytes bytes);

}  // namespace quarry
