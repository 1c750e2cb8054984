// One space: a driver, its heap, counters, streams and locks. Allocator is a handle to it.
//
// SYNCHRONIZATION
//   heap_mutex_  guards everything below it in the class: heap, live map, counters, streams, options, observer. A hit
//                takes only this one, and nothing that can block is called under it. The observer is.
//   grow_mutex_  held by whoever gets memory from the driver or gives it back. Taken before heap_mutex_, which is
//   dropped
//                around each driver call (class Unlocked), so that hits of other threads go on meanwhile. Whoever
//                waited for it searches the heap again first.
//   handles_     atomic; the space deletes itself when the last handle and the last live block are gone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/heap/address_map.h>
#include <quarry/allocator/heap/heap.h>
#include <quarry/allocator/stream/stream_table.h>

namespace quarry {

class Space final : public HeapHost {
 public:
  // One handle is counted for the caller.
  static Result<Space*> open(std::shared_ptr<Driver> driver, const Options& options);

  void add_handle() { handles_.fetch_add(1, std::memory_order_relaxed); }
  void drop_handle();

  StreamId resolve_stream(void* handle);

  // size > 0, checked by the caller of the class against its own rules. The block is live.
  Result<Block*> allocate(const Request& request);
  void free(Block* block);
  // CHECK: a live block starts at `address`, and if `claim` is not null it has that size and stream.
  void free(Address address, const Request* claim = nullptr);

  Bytes empty_cache();
  Status configure(std::string_view text);
  Options options() const;
  Status set_memory_fraction(double fraction);
  double memory_fraction() const;

  const std::string& device_name() const { return device_name_; }
  Counters counters() const;
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

  // HeapHost, called by the heap under heap_mutex_ and grow_mutex_.
  const Options& heap_options() const override { return options_; }
  DriverStatus allocate_segment(Segment& segment) override;
  DriverStatus release_segment(const Segment& segment) override;
  Counters& heap_counters() override { return counters_; }

 private:
  Space(std::shared_ptr<Driver> driver, const Options& options);
  ~Space() override;

  Result<Block*> allocate_slow(const Request& request, const Placement& placement);
  Error refuse(const Request& request, const Placement& placement, DriverStatus status,
               std::unique_lock<std::mutex>& lock);
  Block* hand_out(Block* block, const Request& request);
  void count_live(const Block& block);
  void take_back(Block* block, std::unique_lock<std::mutex> lock);
  void record(Action action, Address address, Bytes size, StreamId stream, Tag tag = {}, Bytes device_free = {});
  Ledger ledger_locked(const MemoryInfo& device) const;
  MemoryInfo device_info() const;
  Status apply_fraction(double fraction);

  const std::shared_ptr<Driver> driver_;
  const std::string device_name_;
  std::atomic<std::uint64_t> handles_{1};

  mutable std::mutex grow_mutex_;
  mutable std::mutex heap_mutex_;
  Options options_;
  std::unique_ptr<Heap> heap_;
  AddressMap live_;
  Counters counters_;
  Stat requested_live_;  // requested bytes until the caller frees; counters_ has them until the free completes
  StreamTable streams_;
  Observer* observer_ = nullptr;
  std::uint64_t sequence_ = 0;
  std::uint64_t next_segment_ = 0;
  double fraction_ = 1.0;
  Bytes fraction_limit_ = kUnlimited;
  bool abandoned_ = false;  // no handle is left
};

}  // namespace quarry
