#include "support/operation_subject.h"

#include <utility>

#include "support/identities.h"
#include "support/pytorch.h"

namespace quarry::oracle {
namespace {

Options options_of(const Start& start) {
  Result<Options> options = parse_options(start.settings.text(), pytorch_options(), Origin::api);
  QUARRY_CHECK(options, "a test made an option string that the parser refuses");
  options->tie_break = start.tie_break;
  options->memory_limit = {start.memory_limit};
  return *options;
}

}  // namespace

Subject::Subject(const Start& start)
    : device_(std::make_shared<sim::Device>(sim::DeviceOptions{.capacity = {start.capacity}, .record_calls = true})),
      allocator_(*Allocator::open(device_, options_of(start))) {
  device_->set_outside({start.outside});
  for (std::uintptr_t i = 0; i < start.streams; ++i) {
    streams_.push_back(allocator_.stream(reinterpret_cast<void*>(i)));  // NOLINT(performance-no-int-to-ptr)
  }
}

Outcome Subject::apply(const Operation& operation) {
  (void)device_->take_calls();
  Outcome outcome = std::visit([this](const auto& op) { return run(op); }, operation);
  for (const sim::CallRecord& call : device_->take_calls()) {
    const bool get = call.call == sim::Call::allocate_segment;
    if (!get && call.call != sim::Call::release_segment) continue;
    outcome.calls.push_back({get, call.size.count, call.result == DriverCode::ok});
  }
  return outcome;
}

std::string Subject::broken() const {
  if (!breach_.empty()) return breach_;
  std::vector<LiveBlock> live;
  for (const auto& [id, block] : live_) live.push_back({block.address(), {block.block_size()}, {block.size()}});
  return broken_identity(allocator_, device_.get(), live, baseline_);
}

std::string Subject::broken_end() {
  live_.clear();
  (void)allocator_.empty_cache();
  if (std::string text = broken(); !text.empty()) return text;
  return device_->in_use() == Bytes{} ? "" : "the device still holds memory";
}

Outcome Subject::run(const Allocate& op) {
  Result<Allocation> block = allocator_.allocate(op.size, streams_[op.stream]);
  if (!block) return failed(block.error());
  if (!*block) return {.kind = Kind::null};
  Outcome outcome{.kind = Kind::placed, .size = block->block_size()};
  const Address segment = allocator_.segment_of(block->data())->address;
  outcome.segment = number_at(segment);
  outcome.offset = (block->address() - segment).count;
  live_.emplace(op.id, *std::move(block));
  return outcome;
}

Outcome Subject::run(const Free& op) { return {.kind = live_.erase(op.id) == 1 ? Kind::done : Kind::skipped}; }

// The ledger must say beforehand what comes back, unless the driver refuses to take it.
Outcome Subject::run(const EmptyCache&) {
  const Bytes promised = allocator_.ledger().releasable;
  const Bytes kept_before = device_->in_use();
  const Bytes released = allocator_.empty_cache();
  if (released > promised || allocator_.ledger().releasable != promised - released ||
      device_->in_use() != kept_before - released) {
    breach_ = "empty_cache gave " + std::to_string(released.count) + " of " + std::to_string(promised.count) + " bytes";
  }
  return {.released = released.count};
}

Outcome Subject::run(const ResetPeak&) {
  allocator_.reset_peak();
  return {};
}

Outcome Subject::run(const ResetAccumulated&) {
  allocator_.reset_accumulated();
  baseline_ = allocator_.counters();
  return {};
}

Outcome Subject::run(const SetFraction& op) {
  const Status set = allocator_.set_memory_fraction(op.fraction);
  return set ? Outcome{} : failed(set.error());
}

Outcome Subject::run(const Configure& op) {
  const Status set = allocator_.configure(op.settings.text());
  return set ? Outcome{} : failed(set.error());
}

Outcome Subject::run(const SetCapacity& op) {
  device_->set_capacity({op.bytes});
  return {};
}

Outcome Subject::run(const SetOutside& op) {
  device_->set_outside({op.bytes});
  return {};
}

Outcome Subject::run(const FailSegment& op) {
  device_->fail(sim::Call::allocate_segment, op.nth, op.other ? DriverCode::other : DriverCode::out_of_memory);
  return {};
}

Outcome Subject::failed(const Error& error) {
  error_ = error;
  return {.kind = error.code == ErrorCode::out_of_memory ? Kind::out_of_memory : Kind::driver_error};
}

std::uint64_t Subject::number_at(Address address) const {
  for (const SegmentView& segment : allocator_.snapshot().segments) {
    if (segment.address == address) return static_cast<std::uint64_t>(segment.number);
  }
  return ~0ull;
}

}  // namespace quarry::oracle
