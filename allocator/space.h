// One space: a driver, its pools, counters, streams and locks. Allocator is a handle to it.
//
// SYNCHRONIZATION
//   heap_mutex_   guards everything below it in the class: pools and heaps, live map, counters, streams, pending frees,
//                 options, observer. A hit takes only this one, and nothing that can block is called under it. The
//                 observer is. Event calls and capture queries drop it, although they do not block.
//   event_mutex_  whoever takes finished events out of the queues holds it. A request only tries to get it: if another
//                 thread is looking, that thread's finds are as good. The ladder waits for it.
//   grow_mutex_   held by whoever gets memory from the driver or gives it back. The heap lock is dropped around each
//                 driver call (class Unlocked), so that hits of other threads go on meanwhile. Whoever waited for it
//                 searches the heap again first.
//   Order: grow_mutex_, event_mutex_, heap_mutex_.
//   handles_      atomic; the space deletes itself when the last handle, the last live block and the last free that is
//                 still under way (busy_) are gone.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/heap/address_map.h>
#include <quarry/allocator/heap/heap.h>
#include <quarry/allocator/heap/page_arena.h>
#include <quarry/allocator/heap/page_mapper.h>
#include <quarry/allocator/heap/slab.h>
#include <quarry/allocator/pool.h>
#include <quarry/allocator/reclaim/ladder.h>
#include <quarry/allocator/stream/event_pool.h>
#include <quarry/allocator/stream/pending_frees.h>
#include <quarry/allocator/stream/stream_clock.h>
#include <quarry/allocator/stream/stream_table.h>

namespace quarry {

class Space final : public HeapHost {
 public:
  // One handle is counted for the caller.
  static Result<Space*> open(std::shared_ptr<Driver> driver, const Options& options);

  void add_handle() { handles_.fetch_add(1, std::memory_order_relaxed); }
  void drop_handle();

  StreamId resolve_stream(void* handle);
  void retire_stream(StreamId stream);
  void note_wait(StreamId waiter, StreamId on);
  void make_current(StreamId stream);

  // size > 0, checked by the caller of the class against its own rules. The block is live.
  Result<Block*> allocate(const Request& request);
  void free(Block* block);
  // CHECK: a live block starts at `address`, and if `claim` is not null it has that size and stream.
  void free(Address address, const Request* claim = nullptr);
  void used_on(Block* block, StreamId stream);
  void used_on(Address address, StreamId stream);

  Bytes empty_cache();
  Status configure(std::string_view text);
  Options options() const;
  Status set_memory_fraction(double fraction);
  double memory_fraction() const;
  void add_reclaim_callback(std::function<bool()> callback);
  void add_oom_observer(std::function<void(const OutOfMemoryEvent&)> observer);

  Status create_pool(PoolId id);
  Status begin_pool(PoolId id, PoolScope scope, StreamId stream);
  Status end_pool(PoolId id);
  Status release_pool(PoolId id);
  Result<std::uint64_t> pool_use_count(PoolId id) const;
  Status set_pool_no_split(PoolId id);
  void set_pool_use_on_oom(PoolId id);
  Result<Bytes> empty_pool(PoolId id);

  std::string device_name() const { return driver_->memory().capabilities().name; }
  const std::shared_ptr<Driver>& driver() const { return driver_; }
  // The host owns every block; nobody else may ask for memory.
  bool host_owned() const { return host_stream_ != nullptr; }
  Counters counters() const;
  Result<Counters> counters(PoolId pool) const;
  Ledger ledger() const;
  Snapshot snapshot() const;
  Bytes largest_available() const;
  Result<Allocator::Segment> segment_of(Address address) const;
  void reset_peak();
  void reset_accumulated();
  void set_observer(Observer* observer);
  std::string validate() const;

  Status restore(const Snapshot& state);
  Status release_segment(Address base);
  Status unmap_range(Address base, Bytes size);

  // HeapHost, called by heaps under heap_mutex_ and grow_mutex_ (count: heap_mutex_ only).
  const Options& heap_options() const override { return options_; }
  DriverStatus allocate_segment(Segment& segment) override;
  DriverStatus release_segment(const Segment& segment) override;
  DriverStatus reserve_segment(Segment& segment) override;
  DriverStatus unreserve_segment(const Segment& segment) override;
  DriverStatus map_pages(Segment& segment, Address at, Bytes size, Pool& owner) override;
  Bytes unmap_pages(Segment& segment, Address at, Bytes size, Pool& owner) override;
  DriverResult<Address> map_alias(Bytes page, const std::vector<PageHandle>& pages) override;
  DriverStatus unmap_alias(Address base, Bytes size) override;
  void move_reserved(Pool& from, Pool& to, Bytes size) override;
  StreamClock& clock() override { return clock_; }
  bool record_frees(StreamId stream) override;
  bool make_wait(StreamId waiter, StreamId on, std::uint64_t number) override;
  bool may_order() override;
  bool quiesce() override;
  bool over_limit(Bytes segment) const override;
  Bytes reservation_size(Bytes page) const override;
  void count(Metric metric, SizeClass size_class, std::int64_t n, Pool& pool) override {
    counters_.change(metric, size_class, n);
    if (rows_split_) [[unlikely]]
      pool.counters.change(metric, size_class, n);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;  // of heap_mutex_
  class SpaceClimber;

  struct Scope {
    PoolId pool;
    PoolScope kind;
    StreamId stream;
    std::thread::id thread;
  };

  Space(std::shared_ptr<Driver> driver, const Options& options);
  ~Space() override;

  // Requests and frees (space.cpp)
  Block* hand_out(Block* block, const Request& request);
  void count_live(const Block& block);
  void take_back(Block* block, Lock lock);
  void complete(Block* block);
  bool sound(const Pool& pool);
  bool last_out() const { return abandoned_ && busy_ == 0 && live_.size() == 0; }
  void record(Action action, Address address, Bytes size, StreamId stream, PoolId pool, Tag tag = {},
              Bytes device_free = {});

  // Misses (space_slow.cpp)
  Result<Block*> allocate_slow(const Request& request, Pool& pool, const Placement& placement);
  Error refuse(const Request& request, const Pool& pool, const Placement& placement, const Climb& climb, Lock& lock);
  Bytes reserved() const;
  Bytes limit() const { return std::min(fraction_limit_, options_.memory_limit); }
  Bytes garbage_limit() const;
  Bytes release_unused(const Pool* own_pool, bool default_pool = true);
  MemoryInfo device_info() const;

  // Pages of expandable segments (space_pages.cpp)
  DriverStatus wait_for_owner(StreamId stream);

  // Order of streams in the paged policy (space_order.cpp)
  bool paged() const { return arena_ != nullptr; }
  void look_again(Lock& lock);
  void flush_front(Pool& pool);
  void flush_fronts();
  void poll_frees(Lock& lock);
  void drop_finished(StreamId stream);
  void wait_for_frees();
  void drop_events(StreamId stream);
  std::vector<std::pair<StreamId, std::uint64_t>> open_frees() const;
  void set_complete(StreamId stream, std::uint64_t number);
  void forget_stream(StreamId stream);
  void set_synced(StreamId waiter, StreamId on, std::uint64_t number);

  // Streams, pending frees and captures (space_streams.cpp)
  // Where the driver does not answer, waiting or recording could break a capture: `unknown` says to take it for one.
  // Drops the heap lock.
  bool capture_seen(bool unknown = true) const;
  DriverResult<bool> in_capture(StreamId stream) const;
  bool still_captured(const PendingFrees::Parked& parked) const;
  bool may_be_captured(StreamId stream) const;
  void settle(Lock& lock);
  void poll_events(Lock& lock);
  void wait_for_pending(Lock& lock, const Pool* only = nullptr);
  void defer(Block* block, Lock& lock);
  void record_events(Block* block, Lock& lock);
  void event_finished(StreamId stream, std::size_t nth = 0);
  void abandon_event(StreamId stream, std::size_t nth);
  void wait_for_unordered(Lock& lock);
  void unpark(Lock& lock, const Pool* only = nullptr);
  void add_use(Block* block, StreamId stream);
  void drop_uses(Block* block, bool only_captured);
#if defined(QUARRY_PLANTED_RACES)
  Block* take_merged(const Placement& placement, Lock& lock);  // tests/hunt/merged_lists.cpp
#endif

  // Pools (space_pools.cpp)
  Pool* choose_pool(const Request& request);
  Pool* find_pool(PoolId id);
  const Pool* find_pool(PoolId id) const;
  void erase_pool(Pool& pool);
  Status acquire_pool(PoolId id);
  void make_heap(Pool& pool);
  void split_rows();

  Ledger ledger_locked(const MemoryInfo& device) const;
  std::vector<PendingOn> pending_by_stream() const;
  void walk(Snapshot& into) const;

  const std::shared_ptr<Driver> driver_;
  void* const host_stream_;  // Driver::host_stream
  // As long as the space lives; by it a thread knows the space it told its current stream.
  const std::shared_ptr<const char> life_ = std::make_shared<const char>();
  std::atomic<std::uint64_t> handles_{1};
  EventPool event_pool_;
  PageMapper page_mapper_;  // guarded by grow_mutex_

  mutable std::mutex grow_mutex_;
  const Pool* climbing_ = nullptr;  // guarded by grow_mutex_: whose request it is; released meanwhile or not, it stays
  mutable std::mutex event_mutex_;
  mutable std::mutex heap_mutex_;
  Options options_;
  StreamClock clock_;
  std::unique_ptr<PageArena> arena_;  // null in the pytorch policy
  std::map<PoolId, Pool> pools_;      // records are never removed
  Pool& default_pool_;
  std::vector<Scope> scopes_;  // the last one that matches a request wins
  AddressMap live_;
  Slab<StreamUse> uses_;
  PendingFrees pending_;
  Counters counters_;
  Stat requested_live_;  // requested bytes until the caller frees; counters_ has them until the free completes
  StreamTable streams_;
  Observer* observer_ = nullptr;
  std::vector<std::function<bool()>> reclaim_callbacks_;
  std::vector<std::function<void(const OutOfMemoryEvent&)>> oom_observers_;
  std::uint64_t sequence_ = 0;
  std::uint64_t next_segment_ = 0;
  std::size_t unwalked_ = 0;  // operations since the last expensive check
  std::uint64_t busy_ = 0;    // frees that have dropped the heap lock
  double fraction_ = 1.0;
  Bytes fraction_limit_ = kUnlimited;
  Bytes device_total_ = kUnlimited;  // when the fraction was set
  bool rows_split_ = false;          // the default pool counts apart from the space
  bool abandoned_ = false;           // no handle is left
};

}  // namespace quarry
