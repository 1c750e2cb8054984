// The ladder: what is given back, and in what order, when the driver refuses. One loop over a list of rungs per policy.
#pragma once

#include <span>
#include <string_view>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/heap/heap.h>

namespace quarry {

// What a climb can do, for one request. The space implements it; heap lock and grow lock are held, and the heap lock is
// dropped around everything that can block.
class Climber {
 public:
  virtual ~Climber() = default;

  virtual Block* search() = 0;                     // the request's own heap again
  virtual Block* search_anywhere() = 0;            // and against the rules of the placement
  virtual DriverResult<Block*> grow() = 0;         // one more segment
  virtual bool run_callbacks() = 0;                // true when one of them freed something
  virtual void collect_garbage() = 0;              // if its threshold is passed
  virtual bool rejects() = 0;                      // throw_on_cudamalloc_oom would refuse to grow
  virtual Block* borrow() = 0;                     // from pools that lend when memory is out
  virtual bool release_oversize() = 0;             // max_split_size's own rung; true when it freed enough
  virtual bool may_wait() = 0;                     // no capture is open on this thread
  virtual bool wait_on_streams() = 0;              // the request's stream for others, where their bytes would do
  virtual void wait_for_pending() = 0;             // every outstanding event
  virtual void release_cached(bool own_pool) = 0;  // wholly free segments; with the request's own pool if told so
  virtual void count_retry() = 0;
  virtual bool close_holes() const = 0;
  virtual void look_again() = 0;  // finished events, and what the front caches hold, go back to the heaps
};

enum class Outcome : std::uint8_t {
  served,    // `block` is the answer
  refused,   // out of memory after every rung
  rejected,  // throw_on_cudamalloc_oom: nothing was tried
  failed,    // the driver failed with something else than out of memory
};

struct Climb {
  Outcome outcome = Outcome::refused;
  Block* block = nullptr;
  DriverStatus status;
};

// reference/pytorch_allocator.md section 4, steps 4 to 10.
Climb climb_pytorch(Climber& climber);
// DESIGN.md section 6: never fails while a fitting block is pending or releasable.
Climb climb_paged(Climber& climber);

}  // namespace quarry
