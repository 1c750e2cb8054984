#include <quarry/tensor/queue_order.h>

#include <string>

namespace quarry {

namespace {

ErrorCode code_of(DriverCode code) {
  if (code == DriverCode::out_of_memory) return ErrorCode::out_of_memory;
  if (code == DriverCode::unsupported) return ErrorCode::unsupported;
  return code == DriverCode::gone ? ErrorCode::gone : ErrorCode::driver;
}

}  // namespace

Status status_of(DriverStatus status, const char* what) {
  if (status) return Done{};
  return Error{code_of(status.code),
               std::string("the device's driver refused: ") + what + " (" + std::to_string(status.native) + ")",
               status.native};
}

Status synchronize(Ordering& ordering, void* queue) {
  return status_of(ordering.synchronize_stream(queue), "synchronize_stream");
}

Status make_wait(Ordering& ordering, void* waiter, void* on) {
  const DriverResult<EventHandle> event = ordering.create_event();
  if (!event) return status_of(event.status, "create_event");
  DriverStatus done = ordering.record(event.value, on);
  if (done) done = ordering.wait_on_stream(waiter, event.value);
  static_cast<void>(ordering.destroy_event(event.value));  // the wait stays
  return status_of(done, "a wait between streams");
}

}  // namespace quarry
