// What the simulated device reports when memory changes hands without an order: a hazard, both sides named.
#pragma once

#include <cstdint>
#include <string>

#include <quarry/allocator/types.h>

namespace quarry::sim {

struct ByteRange {
  Address base;
  Bytes size;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// One touch of a range. `stream` is the identity that Ordering gives, 0 is the host; `sequence` counts what was queued
// on that stream, from 1. The range is the whole one that was named to the device.
struct Use {
  std::uint64_t stream = 0;
  std::uint64_t sequence = 0;
  ByteRange range;
  bool writes = false;

  friend bool operator==(const Use&, const Use&) = default;
};

enum class HazardKind : std::uint8_t {
  conflict,  // two uses of the same bytes, one of them a write, and nothing orders the earlier before the later
  release,   // a segment or host memory given back (`later`) while the host has not seen the end of `earlier`
  unmap,     // the same for a mapping
  stray      // work on addresses with nothing behind them; only `later` is set
};

struct Hazard {
  HazardKind kind = HazardKind::conflict;
  Use earlier;
  Use later;

  friend bool operator==(const Hazard&, const Hazard&) = default;
};

// One line for a person.
std::string describe(const Hazard& hazard);

}  // namespace quarry::sim
