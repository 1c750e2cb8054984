// Order of the queues of a device, for the executors: the same for every driver.
#pragma once

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/result.h>

namespace quarry {

// A refusal as an error of the library; `what` names the call.
Status status_of(DriverStatus status, const char* what);

// Executor::synchronize and Executor::make_wait.
Status synchronize(Ordering& ordering, void* queue);
Status make_wait(Ordering& ordering, void* waiter, void* on);

}  // namespace quarry
