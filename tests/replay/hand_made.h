// Small traces written down by hand: one device, one segment list, one entry a line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include <quarry/stats/trace.h>

namespace quarry::tools {

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr Address kSmallBase{0x7000'0000'0000};
inline constexpr Address kLargeBase{0x7000'1000'0000};

// Default pool everywhere unless a test says otherwise.
class HandMade {
 public:
  HandMade() {
    trace.devices.emplace_back();
    trace.pool_index(kDefaultPool);
  }

  stats::DeviceTrace& device() { return trace.devices.front(); }

  // A segment as it is at the end; its blocks follow with block().
  HandMade& segment(Address base, std::uint64_t size, SizeClass size_class, std::uint64_t stream = 0) {
    stats::TraceSegment& segment = device().segments.emplace_back();
    segment.address = base;
    segment.total_size = {size};
    segment.size_class = size_class;
    segment.stream = stream;
    segment.pool = stats::PoolIndex{0};
    return *this;
  }
  // The next block of the last segment.
  HandMade& block(std::uint64_t size, BlockState state, std::uint64_t requested = 0) {
    stats::TraceSegment& segment = device().segments.back();
    Address at = segment.address;
    for (const stats::TraceBlock& before : segment.blocks) at = at + before.size;
    segment.blocks.push_back({at, {size}, {requested}, state, {}});
    return *this;
  }
  HandMade& entry(stats::TraceAction action, Address address, std::uint64_t size, std::uint64_t stream = 0) {
    stats::TraceEntry& entry = device().entries.emplace_back();
    entry.action = action;
    entry.address = address;
    entry.size = {size};
    entry.stream = stream;
    entry.pool = stats::PoolIndex{0};
    return *this;
  }
  HandMade& alloc(Address at, std::uint64_t size, std::uint64_t stream = 0) {
    return entry(stats::TraceAction::alloc, at, size, stream);
  }
  HandMade& requested(Address at, std::uint64_t size, std::uint64_t stream = 0) {
    return entry(stats::TraceAction::free_requested, at, size, stream);
  }
  HandMade& completed(Address at, std::uint64_t size, std::uint64_t stream = 0) {
    return entry(stats::TraceAction::free_completed, at, size, stream);
  }
  HandMade& free(Address at, std::uint64_t size, std::uint64_t stream = 0) {
    return requested(at, size, stream).completed(at, size, stream);
  }

  stats::Trace trace;
};

}  // namespace quarry::tools
