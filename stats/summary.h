// The statistics table for people.
#pragma once

#include <cstdint>
#include <string>

#include <quarry/allocator/allocator.h>

namespace quarry::stats {

enum class Units : std::uint8_t { automatic, bytes, mib, gib, mb, gb };

// A number of bytes for people, always with its unit: "1.50 GiB". kUnlimited is "unlimited", never a number.
std::string format_bytes(Bytes bytes, Units units = Units::automatic);
// A count with thousands separated: "28,291".
std::string format_count(std::int64_t count);

// PyTorch's memory_summary rows (current, peak, allocated, freed, for all / large / small), then what it does not say:
// the ledger from requested to the device's total, releasable against stranded, both fragmentation numbers.
std::string summary(const SpaceStats& stats, Units units = Units::automatic);

}  // namespace quarry::stats
