#include "tools/replay/workload.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <quarry/allocator/check.h>

namespace quarry::tools {

// Building -----------------------------------------------------------------------------------------------------------

WorkloadBuilder::Block& WorkloadBuilder::at(Slot slot, State state) {
  QUARRY_CHECK(slot < blocks_.size() && blocks_[slot].state == state, "a workload frees only what is there");
  return blocks_[slot];
}

std::uint16_t WorkloadBuilder::pool_index(PoolId pool) {
  if (pool == kDefaultPool) return 0;
  const auto [found, fresh] = pools_.try_emplace(pool, static_cast<std::uint16_t>(work_.pools.size()));
  if (fresh) {
    QUARRY_CHECK(work_.pools.size() <= std::numeric_limits<std::uint16_t>::max(), "a workload has up to 65,536 pools");
    work_.pools.push_back(pool);
  }
  return found->second;
}

void WorkloadBuilder::count_stream(StreamId stream) {
  work_.streams = std::max(work_.streams, static_cast<std::uint32_t>(stream) + 1);
}

void WorkloadBuilder::push(const WorkStep& step) { (window_ ? work_.window : work_.start).push_back(step); }

void WorkloadBuilder::measure() {
  work_.peak_requested = std::max(work_.peak_requested, requested_);
  work_.peak_requested_active = std::max(work_.peak_requested_active, requested_active_);
}

WorkloadBuilder::Slot WorkloadBuilder::allocate(Bytes size, StreamId stream, PoolId pool) {
  count_stream(stream);
  Slot slot = static_cast<Slot>(blocks_.size());
  if (free_slots_.empty()) {
    blocks_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  const WorkStep step{WorkKind::allocate, pool_index(pool), stream, slot, size};
  blocks_[slot] = {step, State::live, window_, next_serial_++};
  push(step);
  requested_ += size;
  requested_active_ += size;
  if (window_) {
    ++work_.allocations;
    measure();
  }
  return slot;
}

void WorkloadBuilder::free(Slot slot) {
  const Block& block = at(slot, State::live);
  QUARRY_CHECK(window_, "the start of a workload frees nothing");
  push({WorkKind::free, 0, block.step.stream, slot, {}});
  ++work_.frees;
  requested_ -= block.step.size;
  release(slot);
}

void WorkloadBuilder::request_free(Slot slot) {
  Block& block = at(slot, State::live);
  push({WorkKind::request_free, 0, block.step.stream, slot, {}});
  if (window_) ++work_.frees;
  requested_ -= block.step.size;
  block.state = State::pending;
}

void WorkloadBuilder::complete_free(Slot slot) {
  const Block& block = at(slot, State::pending);
  QUARRY_CHECK(window_, "the start of a workload frees nothing");
  push({WorkKind::complete_free, 0, block.step.stream, slot, {}});
  release(slot);
}

void WorkloadBuilder::release(Slot slot) {
  requested_active_ -= blocks_[slot].step.size;
  blocks_[slot].state = State::none;
  free_slots_.push_back(slot);
}

void WorkloadBuilder::used_on(Slot slot, StreamId stream) {
  static_cast<void>(at(slot, State::live));
  count_stream(stream);
  work_.names_users = true;
  push({WorkKind::used_on, 0, stream, slot, {}});
}

void WorkloadBuilder::note_wait(StreamId waiter, StreamId on) {
  count_stream(waiter);
  count_stream(on);
  push({WorkKind::note_wait, 0, waiter, static_cast<std::uint32_t>(on), {}});
}

void WorkloadBuilder::begin_window() {
  QUARRY_CHECK(!window_, "a workload has one window");
  window_ = true;
  for (const Block& block : blocks_) {
    if (block.state != State::none) started_.push_back(block);
  }
  std::ranges::sort(started_, {}, &Block::serial);
  measure();
}

// The way back
// ---------------------------------------------------------------------------------------------------------

void WorkloadBuilder::end_window_blocks() {
  std::vector<Block> over;
  for (const Block& block : blocks_) {
    if (block.state == State::none) continue;
    const auto started = std::ranges::lower_bound(started_, block.serial, {}, &Block::serial);
    const bool spans = !block.in_window && started->state == block.state;
    if (!spans) over.push_back(block);
  }
  std::ranges::sort(over, {}, &Block::serial);
  for (const Block& block : over) {
    const WorkKind kind = block.state == State::live ? WorkKind::free : WorkKind::complete_free;
    work_.rewind.push_back({kind, 0, block.step.stream, block.step.slot, {}});
    blocks_[block.step.slot].state = State::none;
  }
}

void WorkloadBuilder::allocate_start_again() {
  for (const Block& block : started_) {
    const Block& now = blocks_[block.step.slot];
    if (now.state != State::none && now.serial == block.serial) continue;
    work_.rewind.push_back(block.step);
    if (block.state == State::pending) {
      work_.rewind.push_back({WorkKind::request_free, 0, block.step.stream, block.step.slot, {}});
    }
  }
}

Workload WorkloadBuilder::finish() {
  if (!window_) begin_window();
  work_.slots = static_cast<std::uint32_t>(blocks_.size());
  end_window_blocks();
  allocate_start_again();
  Workload done = std::move(work_);
  *this = {};
  return done;
}

// From files
// -----------------------------------------------------------------------------------------------------------

namespace {

// A recording says that other streams used a block, not which. Streams that use each other's blocks wait for each
// other, so all of them may be made to; nothing is free yet that the waits told here could give away.
void couple_streams(const Program& program, std::size_t streams, WorkloadBuilder& builder) {
  if (program.foreign_uses == 0) return;
  for (std::uint32_t a = 0; a < streams; ++a) {
    for (std::uint32_t b = 0; b < streams; ++b) {
      if (a != b) builder.note_wait(StreamId{a}, StreamId{b});
    }
  }
}

}  // namespace

Workload make_workload(const Program& program, const Rewound& start) {
  WorkloadBuilder builder;
  couple_streams(program, start.state.streams.size(), builder);
  std::vector<WorkloadBuilder::Slot> slots(program.slots);
  auto start_slot = program.start_slots.begin();
  for (const SegmentView& segment : start.state.segments) {
    for (const BlockView& block : segment.blocks) {
      const WorkloadBuilder::Slot slot = builder.allocate(block.requested, segment.stream, segment.pool);
      slots[*start_slot++] = slot;
      if (block.state == BlockState::pending) builder.request_free(slot);
    }
  }
  builder.begin_window();
  for (const Op& op : program.ops) {
    switch (op.kind) {
      case OpKind::allocate:
        slots[op.slot] = builder.allocate(op.size, op.stream, op.pool);
        break;
      case OpKind::free:
        builder.free(slots[op.slot]);
        break;
      case OpKind::request_free:
        builder.request_free(slots[op.slot]);
        break;
      case OpKind::complete_free:
        builder.complete_free(slots[op.slot]);
        break;
      case OpKind::release_segment:
      case OpKind::unmap:
        break;
    }
  }
  return builder.finish();
}

Result<Workload> make_workload(const stats::PackingProblem& problem, std::uint64_t scale) {
  const std::vector<stats::PackingBuffer>& buffers = problem.buffers;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::uint64_t total = 0;
  for (const stats::PackingBuffer& buffer : buffers) total += buffer.size.count;  // below 2^63, as read
  if (scale == 0 || total >= kLimit / scale) {
    return Error{ErrorCode::invalid, fmt::format("sizes times {} are not from 1 byte to 2^63 bytes together", scale)};
  }
  std::vector<std::uint32_t> ends(buffers.size());
  std::iota(ends.begin(), ends.end(), 0u);
  std::vector<std::uint32_t> begins = ends;
  std::ranges::stable_sort(begins, {}, [&](std::uint32_t i) { return buffers[i].lower; });
  std::ranges::stable_sort(ends, {}, [&](std::uint32_t i) { return buffers[i].upper; });

  WorkloadBuilder builder;
  builder.begin_window();
  std::vector<WorkloadBuilder::Slot> slots(buffers.size());
  auto begin = begins.begin();
  for (const std::uint32_t end : ends) {
    for (; begin != begins.end() && buffers[*begin].lower < buffers[end].upper; ++begin) {
      slots[*begin] = builder.allocate(buffers[*begin].size * scale);
    }
    builder.free(slots[end]);
  }
  return builder.finish();
}

}  // namespace quarry::tools
