#include "tools/replay/program.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <quarry/allocator/check.h>

namespace quarry::tools {
namespace {

using stats::PoolIndex;
using stats::TraceAction;
using stats::TraceEntry;

struct Occupant {
  std::uint32_t slot = 0;
  Bytes requested;
  bool pending = false;
};

class Compiler {
 public:
  Compiler(const stats::DeviceTrace& device, const Rewound& start) : entries_(device.entries), start_(start) {}

  Program run();

 private:
  void place_start();
  void compile(std::uint32_t index);
  void allocate(std::uint32_t index);
  void request_free(std::uint32_t index);
  void complete_free(std::uint32_t index);

  void map(std::uint32_t index);
  void unmap(std::uint32_t index);
  void measure_room();

  std::uint32_t take_slot();
  void emit(OpKind kind, std::uint32_t index, const Occupant& block);
  void request(Bytes n) {
    requested_ += n;
    program_.peak_requested = std::max(program_.peak_requested, requested_);
  }
  Occupant& at(Address address) {
    const auto found = blocks_.find(address);
    QUARRY_CHECK(found != blocks_.end(), "a consistent trace frees only what is there");
    return found->second;
  }

  const std::vector<TraceEntry>& entries_;
  const Rewound& start_;
  Program program_;
  Bytes requested_;
  std::unordered_map<Address, Occupant, decltype([](Address a) { return std::hash<std::uint64_t>{}(a.value); })>
      blocks_;
  std::unordered_map<std::uint64_t, StreamId> streams_;
  std::vector<std::uint32_t> free_slots_;
  // Expandable segments: from where they begin to the end of what was ever mapped in them.
  struct Reach {
    Address end;
    std::uint64_t stream;
    PoolIndex pool;
    Bytes mapped;
  };
  std::map<Address, Reach> reservations_;
};

Program Compiler::run() {
  const std::vector<std::uint64_t>& handles = start_.state.streams;
  for (std::size_t i = 0; i < handles.size(); ++i) streams_.emplace(handles[i], static_cast<StreamId>(i));
  program_.entries = entries_.size();
  program_.ops.reserve(entries_.size());
  place_start();
  for (std::uint32_t i = 0; i < entries_.size(); ++i) compile(i);
  measure_room();
  return std::move(program_);
}

void Compiler::place_start() {
  for (const SegmentView& segment : start_.state.segments) {
    for (const BlockView& block : segment.blocks) {
      const bool pending = block.state == BlockState::pending;
      const std::uint32_t slot = take_slot();
      program_.start_slots.push_back(slot);
      blocks_[block.address] = {slot, block.requested, pending};
      if (!pending) request(block.requested);
    }
  }
  program_.start_requested = requested_;
}

std::uint32_t Compiler::take_slot() {
  if (free_slots_.empty()) return program_.slots++;
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Compiler::emit(OpKind kind, std::uint32_t index, const Occupant& block) {
  const TraceEntry& entry = entries_[index];
  const auto pool = start_.pools.find(index);
  program_.ops.push_back({kind, streams_.at(entry.stream), block.slot, index, block.requested,
                          pool == start_.pools.end() ? kDefaultPool : pool->second, entry.address});
}

void Compiler::compile(std::uint32_t index) {
  const TraceEntry& entry = entries_[index];
  switch (entry.action) {
    case TraceAction::alloc:
      return allocate(index);
    case TraceAction::free_requested:
      return request_free(index);
    case TraceAction::free_completed:
      return complete_free(index);
    case TraceAction::segment_alloc:
      program_.grown.push_back({entry.address, entry.size, streams_.at(entry.stream)});
      return;
    case TraceAction::segment_free:
      return emit(OpKind::release_segment, index, {0, entry.size});
    case TraceAction::oom:
      ++program_.ooms;
      return;
    case TraceAction::segment_map:
      return map(index);
    case TraceAction::segment_unmap:
      return unmap(index);
    case TraceAction::snapshot:
      return;
  }
}

// A run that touches no expandable segment of its stream and pool begins a new one there.
void Compiler::map(std::uint32_t index) {
  const TraceEntry& entry = entries_[index];
  auto known = reservations_.upper_bound(entry.address);
  if (known != reservations_.begin()) {
    Reach& reach = std::prev(known)->second;
    if (entry.address <= reach.end && reach.stream == entry.stream && reach.pool == entry.pool) {
      reach.end = std::max(reach.end, entry.address + entry.size);
      reach.mapped += entry.size;
      return;
    }
  }
  reservations_[entry.address] = {entry.address + entry.size, entry.stream, entry.pool, entry.size};
  program_.reservations.push_back({entry.address, entry.size, streams_.at(entry.stream)});
}

// With its last page an expandable segment gives its address range back.
void Compiler::unmap(std::uint32_t index) {
  const TraceEntry& entry = entries_[index];
  emit(OpKind::unmap, index, {0, entry.size});
  auto known = reservations_.upper_bound(entry.address);
  if (known == reservations_.begin()) return;
  --known;
  known->second.mapped -= std::min(known->second.mapped, entry.size);
  if (known->second.mapped == Bytes{}) reservations_.erase(known);
}

// A reservation ends at the latest where the next one, or a segment, begins.
void Compiler::measure_room() {
  std::set<Address> begins;
  for (const GrownSegment& segment : program_.grown) begins.insert(segment.address);
  for (const GrownSegment& segment : program_.reservations) begins.insert(segment.address);
  for (const GrownSegment& segment : program_.reservations) {
    const auto next = begins.upper_bound(segment.address);
    if (next != begins.end()) program_.reservation_room = std::min(program_.reservation_room, *next - segment.address);
  }
}

void Compiler::allocate(std::uint32_t index) {
  const TraceEntry& entry = entries_[index];
  const Occupant& block = blocks_[entry.address] = {take_slot(), entry.size};
  ++program_.allocations;
  request(entry.size);
  emit(OpKind::allocate, index, block);
}

void Compiler::request_free(std::uint32_t index) {
  Occupant& block = at(entries_[index].address);
  const bool adjacent = index + 1 < entries_.size() && entries_[index + 1].action == TraceAction::free_completed &&
                        entries_[index + 1].address == entries_[index].address;
  if (block.pending) return;
  if (!adjacent) {
    emit(OpKind::request_free, index, block);
    ++program_.foreign_uses;
    ++program_.frees;
    requested_ -= block.requested;
    block.pending = true;
  }
}

// Without a request before it, completing is the free by the caller as well.
void Compiler::complete_free(std::uint32_t index) {
  const Occupant block = at(entries_[index].address);
  emit(block.pending ? OpKind::complete_free : OpKind::free, index, block);
  if (!block.pending) {
    ++program_.frees;
    requested_ -= block.requested;
  }
  free_slots_.push_back(block.slot);
  blocks_.erase(entries_[index].address);
}

}  // namespace

Program make_program(const stats::DeviceTrace& device, const Rewound& start) { return Compiler(device, start).run(); }

}  // namespace quarry::tools
