// The simulated device's streams and events.
#include <quarry/allocator/sim/device.h>
#include <quarry/allocator/sim/hazards.h>
#include <quarry/allocator/sim/streams.h>

namespace quarry::sim {

Event* Device::find_event(EventHandle event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : found->second.get();
}

DriverResult<std::uint64_t> Device::stream_identity(void* handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::stream_identity);
  const Stream* const stream = code == DriverCode::ok ? streams_->find(handle) : nullptr;
  if (code == DriverCode::ok && stream == nullptr) code = DriverCode::invalid;
  const std::uint64_t identity = stream != nullptr ? stream->identity : 0;
  return {leave_ordering(Call::stream_identity, handle, code), identity};
}

DriverResult<EventHandle> Device::create_event() {
  const std::lock_guard lock(mutex_);
  const DriverCode code = enter(Call::create_event);
  EventHandle event{};
  if (code == DriverCode::ok) {
    event = EventHandle{next_event_++};
    events_.emplace(event, std::make_unique<Event>());
  }
  return {leave_ordering(Call::create_event, nullptr, code), event};
}

DriverStatus Device::destroy_event(EventHandle event) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::destroy_event);
  if (code == DriverCode::ok && events_.erase(event) == 0) code = DriverCode::invalid;
  return leave_ordering(Call::destroy_event, nullptr, code);
}

DriverStatus Device::record(EventHandle handle, void* stream_handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::record);
  Event* const event = find_event(handle);
  Stream* const stream = code == DriverCode::ok && event != nullptr ? streams_->find(stream_handle) : nullptr;
  if (code == DriverCode::ok && stream == nullptr) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    event->stream = stream_handle;
    event->capture = stream->capture;
    event->mark = stream->capture == 0 ? streams_->mark(*stream) : nullptr;
  }
  return leave_ordering(Call::record, stream_handle, code);
}

DriverStatus Device::query(EventHandle handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::query);
  const Event* const event = find_event(handle);
  if (code == DriverCode::ok && (event == nullptr || event->capture != 0)) code = DriverCode::invalid;
  if (code == DriverCode::ok && event->mark) {
    if (event->mark->done) {
      streams_->host_saw(*event->mark);
    } else {
      code = DriverCode::not_ready;
    }
  }
  return leave_ordering(Call::query, event != nullptr ? event->stream : nullptr, code);
}

DriverStatus Device::wait_on_host(EventHandle handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::wait_on_host);
  const Event* const event = find_event(handle);
  if (code == DriverCode::ok && (event == nullptr || event->capture != 0)) code = DriverCode::invalid;
  if (code == DriverCode::ok && event->mark) {
    streams_->run_to(*event->mark);
    streams_->host_saw(*event->mark);
  }
  return leave_ordering(Call::wait_on_host, event != nullptr ? event->stream : nullptr, code);
}

// Waiting for an event of a capture makes the stream take part in it; a capture cannot wait for what is outside.
DriverStatus Device::wait_on_stream(void* stream_handle, EventHandle handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::wait_on_stream);
  const Event* const event = find_event(handle);
  Stream* const stream = code == DriverCode::ok && event != nullptr ? streams_->find(stream_handle) : nullptr;
  if (code == DriverCode::ok && stream == nullptr) code = DriverCode::invalid;
  if (code == DriverCode::ok && event->capture != 0 && !streams_->join_capture(*stream, event->capture)) {
    code = DriverCode::invalid;
  }
  if (code == DriverCode::ok && event->mark) {
    if (stream->capture != 0) {
      code = DriverCode::invalid;
    } else {
      streams_->wait(*stream, event->mark);
    }
  }
  return leave_ordering(Call::wait_on_stream, stream_handle, code);
}

DriverStatus Device::synchronize_stream(void* handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::synchronize_stream);
  Stream* const stream = code == DriverCode::ok ? streams_->find(handle) : nullptr;
  if (code == DriverCode::ok && (stream == nullptr || stream->capture != 0)) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    streams_->run_all(*stream);
    streams_->host_saw(*stream);
  }
  return leave_ordering(Call::synchronize_stream, handle, code);
}

DriverStatus Device::synchronize_device() {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::synchronize_device);
  if (code == DriverCode::ok && streams_->capturing()) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    streams_->run_all();
    streams_->host_saw_all();
  }
  return leave_ordering(Call::synchronize_device, nullptr, code);
}

DriverResult<bool> Device::capture_open(void* handle) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::capture_open);
  const Stream* const stream = code == DriverCode::ok ? streams_->find(handle) : nullptr;
  if (code == DriverCode::ok && stream == nullptr) code = DriverCode::invalid;
  const bool open = stream != nullptr && stream->capture != 0;
  return {leave_ordering(Call::capture_open, handle, code), open};
}

}  // namespace quarry::sim
