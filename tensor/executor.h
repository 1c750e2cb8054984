// The seam to whatever does a device's work: the simulated device, or CUDA kernels.
#pragma once

#include <quarry/allocator/result.h>
#include <quarry/tensor/work.h>

namespace quarry {

// `queue` is a native stream handle, null for the default stream. Any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  // Queues `work` and returns; it runs after all that was queued there before. The memory must stay what it is until
  // then. Of `transfer` one operand may be host memory; where that one is pageable the call may wait for the copy.
  virtual Status run(const Work& work, void* queue) = 0;
  // Waits on the host for all that is queued so far.
  virtual Status synchronize(void* queue) = 0;
  // What is queued on `waiter` from now on runs after all that is queued on `on` so far.
  virtual Status make_wait(void* waiter, void* on) = 0;
};

}  // namespace quarry
