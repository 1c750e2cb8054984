// A heap cuts blocks for one pool of a space. Streams, counters of requests, records and the ladder are above it.
//
// Every function is called under the space's heap lock. grow and release_* also need the grow lock, because they drop
// the heap lock around driver calls (through HeapHost): what they found before such a call may have changed after it.
#pragma once

#include <string>
#include <vector>

#include <quarry/allocator/counters.h>
#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/heap/block.h>
#include <quarry/allocator/options.h>
#include <quarry/allocator/snapshot.h>

namespace quarry {

// A request after rounding, as the heap sees it.
struct Placement {
  Bytes size;          // rounded
  Bytes segment_size;  // what growing for it costs
  SizeClass size_class = SizeClass::small;
  StreamId stream = kDefaultStream;
};

// What a heap needs of the space it belongs to.
class HeapHost {
 public:
  virtual ~HeapHost() = default;

  virtual const Options& heap_options() const = 0;

  // Both drop the heap lock while the driver works, then count the call and the bytes and make the record.
  // allocate: out_of_memory without a driver call where a limit says so; fills address and number on success.
  virtual DriverStatus allocate_segment(Segment& segment) = 0;
  // On failure the segment is still the driver's and ours, and nothing is counted.
  virtual DriverStatus release_segment(const Segment& segment) = 0;

  // For the metrics only a heap can see: inactive_split and its bytes.
  virtual Counters& heap_counters() = 0;
};

class Heap {
 public:
  virtual ~Heap() = default;

  // 0 < requested <= kLargestRequest.
  virtual Placement plan(Bytes requested, StreamId stream) const = 0;

  // The best free block, cut to size and marked live; null on a miss.
  virtual Block* find(const Placement& placement) = 0;
  // Takes a block back and merges it with its free neighbours. Cannot fail.
  virtual void insert(Block* block) = 0;

  // Gets memory from the driver and cuts the block from it.
  virtual DriverResult<Block*> grow(const Placement& placement) = 0;
  // Gives back cached memory that cannot serve `placement` but frees room for it; the bytes given back are enough for
  // one more grow when true. What was given back stays so when false.
  virtual bool release_for(const Placement& placement) = 0;
  // Gives back every wholly free segment; returns the bytes. A segment the driver does not take back stays cached.
  virtual Bytes release_cached() = 0;
  // Gives back the wholly free segment at `base`; `invalid` if there is none.
  virtual DriverStatus release_at(Address base) = 0;

  virtual Bytes largest_free() const = 0;

  // For replay: gets the segment from the driver, which must place it where `view` says, and cuts the blocks that are
  // not free there (in address order); appends them to `live`. `invalid` when blocks overlap or leave the segment.
  virtual DriverStatus restore(const SegmentView& view, std::vector<Block*>& live) = 0;

  // Appends the heap's segments in address order.
  virtual void walk(Snapshot& into) const = 0;
  // The first broken invariant, or an empty string.
  virtual std::string validate() const = 0;
};

}  // namespace quarry
