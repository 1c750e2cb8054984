// What CudaContext asks of a driver. Private to the backend.
#pragma once

#include <quarry/allocator/driver/driver.h>

namespace quarry {

class ContextOwner {
 public:
  virtual ~ContextOwner() = default;

  // Makes the driver's context current in this thread. `pushed`: another one was, and `leave` puts it back.
  virtual DriverStatus enter(bool& pushed) = 0;
  virtual void leave() = 0;
};

}  // namespace quarry
