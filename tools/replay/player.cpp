#include "tools/replay/player.h"

#include <algorithm>
#include <set>
#include <utility>

namespace quarry::tools {

Player::Player(const Program& program, const Rewound& start, std::shared_ptr<sim::Device> device, Allocator gpu)
    : program_(program),
      start_(start),
      device_(std::move(device)),
      script_(start.state.segments, program.grown, program.reservations),
      gpu_(std::move(gpu)),
      slots_(program.slots) {
  for (const std::uint64_t handle : start.state.streams) {
    streams_.push_back(gpu_.stream(reinterpret_cast<void*>(handle)));
  }
}

Result<std::unique_ptr<Player>> Player::open(const Program& program, const Rewound& start, const Options& options,
                                             const MakeSimBackend& make_backend) {
  sim::DeviceOptions wanted;
  wanted.granularity = Bytes{512};  // recorded segments lie where they lie, and may touch
  wanted.base = Address{1ull << 61};
  // An expandable segment reserves 9/8 of the device, and may not reach into the next recorded one.
  constexpr Bytes kLargestPage{64ull << 20};
  if (program.reservation_room != kUnlimited && program.reservation_room > kLargestPage) {
    wanted.capacity = {(program.reservation_room - kLargestPage).count / 9 * 8};
  }
  const SimBackend backend = make_backend(wanted);
  Result<Allocator> gpu = Allocator::open(backend.driver, options);
  if (!gpu) return gpu.error();
  std::unique_ptr<Player> player(new Player(program, start, backend.device, *std::move(gpu)));
  backend.device->set_script(&player->script_);
  if (Status restored = player->restore(); !restored) return restored.error();
  return player;
}

// A space lives as long as its last block, so the blocks go first.
Player::~Player() {
  for (const Slot& slot : slots_) gpu_.deallocate(slot.pointer);
  device_->set_script(nullptr);
}

Status Player::restore() {
  if (Status restored = gpu_.restore(start_.state); !restored) return restored.error();
  std::set<PoolId> pools;
  for (const auto& [entry, pool] : start_.pools) pools.insert(pool);
  for (const PoolId pool : pools) {
    if (gpu_.pool_use_count(pool)) continue;  // restored
    if (Status created = gpu_.create_pool(pool); !created) return created.error();
  }
  std::size_t at = 0;
  for (const SegmentView& segment : start_.state.segments) {
    for (const BlockView& block : segment.blocks) {
      slots_[program_.start_slots[at++]] = {reinterpret_cast<void*>(block.address.value), block.size};
      if (block.state == BlockState::live) allocated_ += block.size;
    }
  }
  tally_.peak_allocated = allocated_;
  calls_before_ = device_->call_counts();
  clock_before_ = device_->clock_ns();
  return Done{};
}

void Player::run_to(std::size_t end) {
  for (; next_ < end; ++next_) {
    const Op& op = program_.ops[next_];
    switch (op.kind) {
      case OpKind::allocate:
        allocate(next_);
        break;
      case OpKind::free:
        allocated_ -= slots_[op.slot].size;
        free_block(op);
        break;
      case OpKind::request_free:
        allocated_ -= slots_[op.slot].size;
        break;
      case OpKind::complete_free:
        free_block(op);
        break;
      case OpKind::release_segment:
        release_segment(op);
        break;
      case OpKind::unmap:
        if (!gpu_.unmap_range(op.address, op.size)) ++tally_.releases_refused;
        break;
    }
  }
}

void Player::allocate(std::size_t index) {
  const Op& op = program_.ops[index];
  script_.use_stream(op.stream);
  const Request request{.size = op.size, .stream = streams_[static_cast<std::size_t>(op.stream)], .pool = op.pool};
  Result<Allocation> got = gpu_.allocate(request);
  Slot& slot = slots_[op.slot];
  Address chosen;
  slot = {};
  if (got) {
    chosen = got->address();
    slot.size = Bytes{got->block_size()};
    slot.pointer = got->release();
    allocated_ += slot.size;
    tally_.peak_allocated = std::max(tally_.peak_allocated, allocated_);
  } else {
    ++tally_.refused;
  }
  if (chosen == op.address) {
    ++tally_.matched;
  } else if (!tally_.first_mismatch) {
    tally_.first_mismatch = index;
    tally_.first_chosen = chosen;
  }
}

void Player::free_block(const Op& op) {
  Slot& slot = slots_[op.slot];
  gpu_.deallocate(slot.pointer);
  slot = {};
}

void Player::release_segment(const Op& op) {
  if (gpu_.release_segment(op.address)) {
    script_.released(op.address);
  } else {
    ++tally_.releases_refused;
    script_.withdraw({op.address, op.size, op.stream});
  }
}

Bytes Player::peak_reserved() const {
  return {static_cast<std::uint64_t>(gpu_.counters()[Metric::reserved_bytes].all.peak)};
}

std::array<std::uint64_t, sim::kCallNames.size()> Player::driver_calls() const {
  auto calls = device_->call_counts();
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] -= calls_before_[i];
  return calls;
}

double Player::driver_us() const { return static_cast<double>(device_->clock_ns() - clock_before_) / 1e3; }

}  // namespace quarry::tools
