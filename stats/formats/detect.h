// What kind of file a text or pickle is, from its first bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include <quarry/stats/read.h>

namespace quarry::stats::formats {

// As many bytes are looked at, unpacked.
inline constexpr std::size_t kDetectBytes = 64 << 10;

FileKind detect(std::string_view head);

}  // namespace quarry::stats::formats
