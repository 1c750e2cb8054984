#include <quarry/tensor/place.h>

#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/tensor/error.h>

namespace quarry {

Place::Place(PlaceKind kind, Allocator memory, std::shared_ptr<Executor> executor, DlpackDevice dlpack)
    : core_(std::make_shared<const Core>(Core{kind, std::move(memory), std::move(executor), dlpack})) {}

Place::Place(PlaceKind kind, Allocator memory, std::shared_ptr<Executor> executor, DlpackDevice dlpack, void* native)
    : core_(std::make_shared<const Core>(Core{kind, std::move(memory), std::move(executor), dlpack})),
      native_(native),
      stream_(core_->memory.stream(native)) {}

Place Place::host(Allocator memory) { return {PlaceKind::host, std::move(memory), nullptr, {1, 0}, nullptr}; }

Place Place::pinned(Allocator memory, DlpackDevice dlpack) {
  return {PlaceKind::pinned, std::move(memory), nullptr, dlpack};
}

Place Place::device(Allocator memory, std::shared_ptr<Executor> executor, DlpackDevice dlpack) {
  QUARRY_CHECK(executor != nullptr, "a device has someone who does its work");
  return {PlaceKind::device, std::move(memory), std::move(executor), dlpack, nullptr};
}

Place Place::on(void* native_stream) const {
  QUARRY_CHECK(kind() == PlaceKind::device, "only a device has streams to choose from");
  Place result = *this;
  result.native_ = native_stream;
  result.stream_ = core_->memory.stream(native_stream);
  return result;
}

Status Place::synchronize() const {
  if (kind() != PlaceKind::device) return Done{};
  return core_->executor->synchronize(native_);
}

Status Place::wait_for(const Place& other) const {
  if (kind() != PlaceKind::device || !same_memory(*this, other)) {
    return invalid("wait_for: two streams of one device, not of two memories");
  }
  if (native_ == other.native_) return Done{};
  const Status waits = core_->executor->make_wait(native_, other.native_);
  if (waits) core_->memory.note_wait(stream_, other.stream_);
  return waits;
}

}  // namespace quarry
