// A pool of a space: its heap, who uses it, what it counts. Guard: the heap lock of the space.
#pragma once

#include <cstdint>
#include <memory>

#include <quarry/allocator/counters.h>
#include <quarry/allocator/front_cache.h>
#include <quarry/allocator/heap/heap.h>
#include <quarry/allocator/types.h>

namespace quarry {

// The record outlives the pool: counters go on when the id is used again (findings F4), and so does use_on_oom (L4).
struct Pool {
  PoolId id;
  std::unique_ptr<Heap> heap;  // null while no pool of this id exists
  FrontCache front;            // always empty in the pytorch policy
  Counters counters;
  std::uint64_t use_count = 0;  // creators and scopes; at 0 its segments may be given back
  bool no_split = false;        // one request per segment
  bool use_on_oom = false;      // requests of the default pool may take its free blocks when the device is full
};

}  // namespace quarry
