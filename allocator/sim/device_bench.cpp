// The test bench's side of the simulated device.
#include <algorithm>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/driver/page_table.h>
#include <quarry/allocator/sim/device.h>
#include <quarry/allocator/sim/hazards.h>
#include <quarry/allocator/sim/streams.h>

namespace quarry::sim {

namespace {

Stream& usable(Streams& streams, void* handle) {
  Stream* const stream = streams.find(handle);
  QUARRY_CHECK(stream != nullptr, "the stream has not been destroyed");
  return *stream;
}

DriverStatus judged(bool possible) { return {possible ? DriverCode::ok : DriverCode::invalid, 0}; }

}  // namespace

void Device::set_capacity(Bytes capacity) {
  const std::lock_guard lock(mutex_);
  options_.capacity = capacity;
}

void Device::set_outside(Bytes used) {
  const std::lock_guard lock(mutex_);
  outside_ = used;
}

void Device::fail(Call call, std::uint64_t nth, DriverCode code, bool repeat) {
  const std::lock_guard lock(mutex_);
  faults_[static_cast<std::size_t>(call)] = {nth, code, repeat};
}

void Device::fail_any(std::uint64_t nth, DriverCode code, bool repeat) {
  const std::lock_guard lock(mutex_);
  any_fault_ = {nth, code, repeat};
}

void Device::set_script(AddressScript* script) {
  const std::lock_guard lock(mutex_);
  QUARRY_CHECK(script == nullptr || !real_, "scripted addresses have no real memory");
  script_ = script;
}

void* Device::create_stream() {
  const std::lock_guard lock(mutex_);
  return streams_->create();
}

DriverStatus Device::destroy_stream(void* stream) {
  const std::lock_guard lock(mutex_);
  return judged(streams_->destroy(stream));
}

std::uint64_t Device::work(void* handle, std::uint64_t duration_ns, const std::vector<ByteRange>& reads,
                           const std::vector<ByteRange>& writes, std::function<void()> effect) {
  const std::lock_guard lock(mutex_);
  Stream& stream = usable(*streams_, handle);
  if (stream.capture != 0) return 0;
  const std::uint64_t sequence = streams_->queue(stream, static_cast<double>(duration_ns), std::move(effect));
  for (const ByteRange& range : reads) judge(stream, {stream.identity, sequence, range, false});
  for (const ByteRange& range : writes) judge(stream, {stream.identity, sequence, range, true});
  return sequence;
}

void Device::judge(const Stream& stream, const Use& use) {
  const std::vector<Places> places = places_of(use.range);
  Bytes found;
  for (const Places& place : places) found += place.size;
  if (found < use.range.size) hazards_->stray(use);
  hazards_->use({stream.slot, stream.last, stream.clock, streams_->host()}, use, places);
}

void Device::advance(std::uint64_t ns) {
  const std::lock_guard lock(mutex_);
  streams_->pass(static_cast<double>(ns));
}

bool Device::idle() const {
  const std::lock_guard lock(mutex_);
  return streams_->idle();
}

void Device::hold(void* stream) {
  const std::lock_guard lock(mutex_);
  streams_->hold(usable(*streams_, stream));
}

void Device::complete(void* stream) {
  const std::lock_guard lock(mutex_);
  streams_->complete(usable(*streams_, stream));
}

void Device::unhold(void* stream) {
  const std::lock_guard lock(mutex_);
  streams_->unhold(usable(*streams_, stream));
}

void Device::finish(void* handle) {
  const std::lock_guard lock(mutex_);
  Stream& stream = usable(*streams_, handle);
  streams_->run_all(stream);
  streams_->host_saw(stream);
}

DriverStatus Device::begin_capture(void* stream) {
  const std::lock_guard lock(mutex_);
  Stream* const found = streams_->find(stream);
  return judged(found != nullptr && streams_->begin_capture(*found));
}

DriverStatus Device::end_capture(void* stream) {
  const std::lock_guard lock(mutex_);
  Stream* const found = streams_->find(stream);
  return judged(found != nullptr && streams_->end_capture(*found));
}

DriverStatus Device::join_capture(void* stream) {
  const std::lock_guard lock(mutex_);
  Stream* const found = streams_->find(stream);
  return judged(found != nullptr && streams_->join_capture(*found));
}

DriverStatus Device::leave_capture(void* stream) {
  const std::lock_guard lock(mutex_);
  Stream* const found = streams_->find(stream);
  return judged(found != nullptr && streams_->leave_capture(*found));
}

std::vector<Hazard> Device::hazards() const {
  const std::lock_guard lock(mutex_);
  return hazards_->found();
}

std::vector<Hazard> Device::take_hazards() {
  const std::lock_guard lock(mutex_);
  return hazards_->take();
}

std::vector<CallRecord> Device::take_calls() {
  const std::lock_guard lock(mutex_);
  return std::exchange(calls_, {});
}

std::array<std::uint64_t, kCallNames.size()> Device::call_counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Bytes Device::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::uint64_t Device::segments() const {
  const std::lock_guard lock(mutex_);
  return segments_.size();
}

Holdings Device::holdings() const {
  const std::lock_guard lock(mutex_);
  return {segments_.size(),          host_.size(),  registered_.size(), pages_->reservations().size(), pages_->pages(),
          pages_->mappings().size(), events_.size()};
}

}  // namespace quarry::sim
