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
#include <quarry/allocator/stream/stream_clock.h>

namespace quarry {

// A request after rounding, as the heap sees it.
struct Placement {
  Bytes size;          // rounded
  Bytes segment_size;  // what growing for it costs
  SizeClass size_class = SizeClass::small;
  StreamId stream = kDefaultStream;
  bool whole = false;  // whole pages in one run of home addresses (paged policy)
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

  // Expandable segments; the driver can map pages. The heap says how many addresses it wants and of what page size
  // (Segment::pages). reserve fills address and number; like the others it drops the heap lock around driver calls.
  virtual DriverStatus reserve_segment(Segment& segment) = 0;
  virtual DriverStatus unreserve_segment(const Segment& segment) = 0;
  // Whole pages of the segment. All or nothing; out_of_memory only where pages ran out.
  virtual DriverStatus map_pages(Segment& segment, Address at, Bytes size, Pool& owner) = 0;
  // Waits for the segment's stream (unless it says not to), then unmaps page by page and gives each back. The bytes
  // unmapped, counted from `at`.
  virtual Bytes unmap_pages(Segment& segment, Address at, Bytes size, Pool& owner) = 0;
  // A plain segment of that size would pass the limits of the space.
  virtual bool over_limit(Bytes segment) const = 0;
  // Addresses of one expandable segment.
  virtual Bytes reservation_size(Bytes page) const = 0;

  // Aliases of the paged policy: pages that are mapped elsewhere, one after the other at a fresh address. Both drop the
  // heap lock. Nothing stays mapped or reserved on failure.
  virtual DriverResult<Address> map_alias(Bytes page, const std::vector<PageHandle>& pages) = 0;
  virtual DriverStatus unmap_alias(Address base, Bytes size) = 0;
  virtual void move_reserved(Pool& from, Pool& to, Bytes size) = 0;

  // Order of streams, for the paged policy. None of the three drops the heap lock: they only queue.
  virtual StreamClock& clock() = 0;
  // An event that covers the stream's frees so far; false where none can be recorded now.
  virtual bool record_frees(StreamId stream) = 0;
  // Makes `waiter` wait for the work on `on` before that free, and lets every heap know.
  virtual bool make_wait(StreamId waiter, StreamId on, std::uint64_t number) = 0;
  // Waits and records would not disturb a capture. Drops the heap lock.
  virtual bool may_order() = 0;
  // The host waits for all work of the device. Drops the heap lock.
  virtual bool quiesce() = 0;

  // Metrics that only a heap can see: inactive_split and its bytes.
  virtual void count(Metric metric, SizeClass size_class, std::int64_t n, Pool& pool) = 0;
};

class Heap {
 public:
  virtual ~Heap() = default;

  // 0 < requested <= kLargestRequest.
  virtual Placement plan(Bytes requested, StreamId stream) const = 0;

  // The best free block, cut to size and marked live; null on a miss.
  virtual Block* find(const Placement& placement) = 0;
  // The same for a borrower from another pool (use_on_oom): only plain segments (findings L4).
  virtual Block* find_plain(const Placement& placement) = 0;
  // The same against the rules of the placement, for a request that would be refused otherwise; null if there are none.
  virtual Block* find_anywhere(const Placement& /*placement*/) { return nullptr; }
  // Ages the free blocks of the placement's class by one search; called while garbage collection is on (findings G2).
  virtual void note_search(const Placement& placement) = 0;
  // Takes a block back and merges it with its free neighbours. Cannot fail.
  virtual void insert(Block* block) = 0;

  // What grow would ask the driver for; nothing where free memory serves the placement.
  virtual Bytes growth(const Placement& placement) { return placement.segment_size; }
  // Gets memory from the driver and cuts the block from it.
  virtual DriverResult<Block*> grow(const Placement& placement) = 0;
  // Makes the placement's stream wait for others whose bytes would serve it; true when it did, and grow is worth
  // another try. Before an out-of-memory, so the option for such waits does not count.
  virtual bool wait_for(const Placement& /*placement*/) { return false; }
  // Gives back cached memory that cannot serve `placement` but frees room for it; the bytes given back are enough for
  // one more grow when true. What was given back stays so when false.
  virtual bool release_for(const Placement& placement) = 0;
  // Gives back large cached segments, oldest first, until `target` bytes are back or nothing is left (findings G1).
  virtual Bytes collect_garbage(Bytes target) = 0;
  // Gives back every wholly free segment and the wholly free pages of expandable ones; returns the bytes. What the
  // driver does not take back stays cached. Addresses without pages go with the last user of the pool.
  virtual Bytes release_cached() = 0;
  // Gives back the wholly free plain segment at `base`; `invalid` if there is none.
  virtual DriverStatus release_at(Address base) = 0;
  // Unmaps the range, whole pages inside one free block of an expandable segment; `invalid` if it is none.
  virtual DriverStatus unmap_at(Address base, Bytes size) = 0;

  // The clock has moved on: work of the stream is complete; `waiter` may use what `on` freed, from number `before` on;
  // the stream asks for nothing any more.
  virtual void completed(StreamId /*stream*/) {}
  virtual void synchronized(StreamId /*waiter*/, StreamId /*on*/, std::uint64_t /*before*/) {}
  virtual void retired(StreamId /*stream*/) {}

  virtual Bytes largest_free() const = 0;
  // Holds nothing from the driver.
  virtual bool empty() const = 0;

  // For replay: gets the segment from the driver, which must place it where `view` says, and cuts the blocks that are
  // not free there (in address order); appends them to `live`. `invalid` when blocks overlap or leave the segment.
  // An expandable view is mapped inside the reservation that holds its address; where there is none, one opens there (a
  // view of no bytes does no more than that).
  virtual DriverStatus restore(const SegmentView& view, std::vector<Block*>& live) = 0;

  // Appends the heap's segments in address order.
  virtual void walk(Snapshot& into) const = 0;
  // The first broken invariant, or an empty string.
  virtual std::string validate() const = 0;
};

}  // namespace quarry
