// The public header. A caching allocator for one space: a GPU's memory, host memory, or the simulated device.
//
// The story of a request, top to bottom: Allocator::allocate -> find a free block and cut it -> on a miss get a segment
// from the driver -> on refusal walk the ladder, asking again after every rung -> a block, or an error that carries the
// ledger of that instant. A free merges the block with its free neighbours and keeps it for the next request.
//
// Threads: every function may be called from any thread unless it says otherwise. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <quarry/allocator/counters.h>
#include <quarry/allocator/ledger.h>
#include <quarry/allocator/observer.h>
#include <quarry/allocator/options.h>
#include <quarry/allocator/result.h>
#include <quarry/allocator/snapshot.h>
#include <quarry/allocator/types.h>

namespace quarry {

class Driver;
class Space;
struct Block;

// An ordered queue of device work, as one allocator knows it. A cheap value; get one from Allocator::stream.
class Stream {
 public:
  Stream() = default;  // the default stream of any allocator
  StreamId id() const { return id_; }

 private:
  friend class Allocator;
  friend class Allocation;
  Stream(StreamId id, const Space* space) : id_(id), space_(space) {}

  StreamId id_ = kDefaultStream;
  const Space* space_ = nullptr;
};

// All that a request may say. Zero-initialised is valid: no bytes, default stream.
struct Request {
  Bytes size;
  Stream stream = {};
  Bytes alignment{512};  // a power of two up to 512; larger ones are refused as unsupported
  Tag tag{};
  PoolId pool = kDefaultPool;  // a pool in use; the default leaves the choice to the open scopes
  bool contiguous = false;     // one physical run, never remapped: for memory that is exported or registered
};

// One block, owned. Move-only; gives the block back at the end of its scope, in the order of its stream.
// Not synchronised by itself: one thread at a time, like any value.
class Allocation {
 public:
  Allocation() = default;
  Allocation(Allocation&& other) noexcept { swap(other); }
  Allocation& operator=(Allocation&& other) noexcept {
    Allocation(std::move(other)).swap(*this);
    return *this;
  }
  ~Allocation() { reset(); }

  // Null for a request of no bytes.
  void* data() const { return reinterpret_cast<void*>(address_.value); }
  Address address() const { return address_; }
  std::size_t size() const { return requested_.count; }         // as requested
  std::size_t block_size() const { return block_size_.count; }  // what it occupies
  explicit operator bool() const { return block_ != nullptr; }

  // Work queued on `stream` so far reads or writes the block: its bytes are not reused before that work is done. Call
  // it after queueing and before freeing. Nothing for the block's own stream.
  void used_on(Stream stream);
  // Frees now. Cannot fail.
  void reset();
  // Gives up ownership; the caller frees with Allocator::deallocate(pointer).
  [[nodiscard]] void* release();

 private:
  friend class Allocator;
  void swap(Allocation& other) noexcept;

  Space* space_ = nullptr;
  Block* block_ = nullptr;
  Address address_;
  Bytes requested_;
  Bytes block_size_;
};

// Which requests a pool scope takes.
enum class PoolScope : std::uint8_t { process, stream, thread };

// Told to out-of-memory observers after a refusal, without any lock.
struct OutOfMemoryEvent {
  Bytes requested;
  Bytes segment;  // what the driver would have been asked for
  Ledger ledger;
};

// What Allocator::stats returns; stats::summary prints it.
struct SpaceStats {
  std::string device;
  Counters counters;
  Ledger ledger;
};

// A cheap handle to a space, shared by all threads. The space outlives its last live block.
class Allocator {
 public:
  // Opens a space on `driver`. Fails when the driver does not answer or an option is out of its limits.
  static Result<Allocator> open(std::shared_ptr<Driver> driver, const Options& options = {});
  // What the space gets its memory from; another space may be opened on it.
  const std::shared_ptr<Driver>& driver() const;

  Allocator(const Allocator& other);
  Allocator(Allocator&& other) noexcept : space_(std::exchange(other.space_, nullptr)) {}
  Allocator& operator=(Allocator other) noexcept {
    std::swap(space_, other.space_);
    return *this;
  }
  ~Allocator();

  // Two handles to one space: what one allocated the other may free.
  friend bool same_space(const Allocator& a, const Allocator& b) { return a.space_ == b.space_; }

  // The stream of a native handle; the same handle gives the same number. Null is the default stream. In pinned memory
  // the default stream, Stream(), stands for the host, and every handle for a stream of the device: null for the
  // device's own default stream, and so on.
  Stream stream(void* native_handle);

  // Waits for the stream's work, then forgets the handle: call it before destroying the stream. Its number is never
  // given out again, and requests on it are a CHECK failure from now on.
  void retire(Stream stream);
  // The program has made `waiter` wait for all work queued on `on` so far: what was freed on `on` up to now serves
  // `waiter` too. Call it right after the wait was queued, with no work queued on `on` in between; never before.
  void note_wait(Stream waiter, Stream on);
  // The stream this thread queues work on. Only captures need it: one is seen by the threads whose current stream takes
  // part in it. The default stream at first.
  void make_current(Stream stream);

  // Size 0 gives an empty Allocation and moves no statistic. Fails with out_of_memory (also for 2^60 bytes and more,
  // without asking the driver), unsupported, or driver. A failed request changes nothing but the caches given back.
  Result<Allocation> allocate(const Request& request);
  Result<Allocation> allocate(std::size_t bytes, Stream stream = {});
  // The only call that throws: OutOfMemory for out_of_memory, std::runtime_error for the rest.
  Allocation allocate_or_throw(std::size_t bytes, Stream stream = {});

  // For foreign interfaces: plain pointers, and no cap below what the driver refuses. Null for 0 bytes.
  Result<void*> allocate_raw(std::size_t bytes, Stream stream = {});
  // `pointer` came from allocate_raw or Allocation::release; null is ignored; anything else is a CHECK failure.
  void deallocate(void* pointer);
  // The same, checked against the requested size.
  void deallocate(void* pointer, std::size_t bytes, Stream stream);

  // As Allocation::used_on; null and pointers of others are ignored.
  void used_on(const void* pointer, Stream stream);

  // Waits for every pending free, then gives every wholly free segment back to the driver; returns the bytes. While
  // this thread sees an open capture it waits for nothing and gives back only what released pools hold; in the paged
  // policy nothing, because pages go only after a wait.
  Bytes empty_cache();

  // Applies an option string (options.h) to later requests. On error nothing changes.
  Status configure(std::string_view text);
  Options options() const;
  // Bounds reserved bytes to floor(fraction x device total); 0..1, 1 removes the bound.
  Status set_memory_fraction(double fraction);
  double memory_fraction() const;

  // Asked when the driver is about to be asked for memory; true = something was freed. May free blocks, must not
  // allocate or call empty_cache.
  void add_reclaim_callback(std::function<bool()> callback);
  void add_oom_observer(std::function<void(const OutOfMemoryEvent&)> observer);

  // Private pools. A pool lives while its use count is above 0 (creators and scopes); after that its segments go back
  // at the next empty_cache, each as soon as nothing lives in it. Errors are `invalid`.
  Status create_pool(PoolId id);  // or one more user of it
  // Requests that match `scope` come from the pool until end_pool; scopes nest, the last one wins. Counts as a user.
  Status begin_pool(PoolId id, PoolScope scope = PoolScope::process, Stream stream = {});
  Status end_pool(PoolId id);  // the user that begin_pool counted stays
  Status release_pool(PoolId id);
  Result<std::uint64_t> pool_use_count(PoolId id) const;
  Status set_pool_no_split(PoolId id);  // one request per segment
  void set_pool_use_on_oom(PoolId id);  // lends to the default pool when the device is full; outlives the pool
  Result<Bytes> empty_pool(PoolId id);  // empty_cache of one released pool

  SpaceStats stats() const;
  Counters counters() const;  // of the space; rows for all, small and large
  // Of one pool; `invalid` for an id that was never used. Counters of a pool outlive it.
  Result<Counters> counters(PoolId pool) const;
  Ledger ledger() const;
  Snapshot snapshot() const;
  void reset_peak();
  void reset_accumulated();

  // Segment base and size of a live block; `invalid` for one in an expandable segment, which is mapped page by page.
  struct Segment {
    Address address;
    Bytes size;
  };
  Result<Segment> segment_of(const void* pointer) const;
  // The largest request that could be served without giving anything back: max of device free and largest free block.
  Bytes largest_available() const;

  // Records go to `observer` until detach; one at a time. The caller keeps it alive until after detach.
  void attach(Observer& observer);
  void detach();

  // The first broken invariant of any structure, or an empty string. Walks everything.
  std::string validate() const;

  // For replay. Adopts `state` (segments, live blocks; gaps are free) into an empty space; pools it names get one user;
  // the driver is asked for each segment in order of its number and must return the address the state names; for an
  // expandable one, for a reservation at the lowest of its views.
  Status restore(const Snapshot& state);
  // For replay. Gives back the wholly free segment at `base`; invalid if there is none or it is in use.
  Status release_segment(Address base);
  // For replay. Unmaps whole pages inside one free block of an expandable segment; invalid if the range is none.
  Status unmap_range(Address base, Bytes size);

 private:
  explicit Allocator(Space* space) : space_(space) {}
  Space* space_ = nullptr;
};

// Thrown by allocate_or_throw; what() carries the ledger.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// An allocator over this process's pageable memory: private to the process, so a forked child has its own bytes. The
// options host_huge_pages and host_numa say what its pages are. empty_cache gives wholly free segments back to the
// system. Pages of the paged policy are 64 KiB here unless page_size says otherwise than its default; there are no
// aliases, and the rules for segments are in heap/placement_segments.h.
Result<Allocator> open_host(const Options& options = {});

// An allocator over page-locked host memory that `device`, a GPU or the simulated one, reaches: copies from and to it
// are asynchronous. The memory comes from the device's driver, or with pinned_use_cuda_host_register from this process,
// touched by pinned_num_register_threads threads and registered. The rest is as in open_host.
//
// The host owns every block: ask without a stream (another one is `invalid`), and call used_on with each stream of the
// device that copies from or to the block, after queueing the copy. A freed block is reused once all those have come
// so far. Streams are made here from the device's handles: pinned.stream(handle), never device.stream(handle).
Result<Allocator> open_pinned(const Allocator& device, const Options& options = {});

// The same where there is no device: memory locked as far as the process may (RLIMIT_MEMLOCK). What may not be locked
// is handed out all the same, and stats().device says how much is locked and how much is not.
Result<Allocator> open_pinned(const Options& options = {});

// An allocator over CUDA device `ordinal`. An error where no GPU answers, never a simulation; the codes are those of
// driver/cuda.h, and `unsupported` in a build without CUDA.
Result<Allocator> open_device(int ordinal, const Options& options = {});

}  // namespace quarry
