// The seam to whatever owns memory: a GPU driver, the operating system, or the simulated device.
//
// Three small interfaces; a backend without mapping or ordering returns null for it. One driver object per device; a
// CUDA driver makes its own context current in every call. Calls return codes, never throw, and may be made from any
// thread; the space decides under which lock. Every backend passes the contract suite in
// tests/support/driver_contract.h.
#pragma once

#include <cstdint>
#include <string>

#include <quarry/allocator/types.h>

namespace quarry {

enum class DriverCode : std::uint8_t { ok, out_of_memory, not_ready, invalid, gone, unsupported, other };

// `native` is the backend's own code (errno, CUresult), 0 if there is none.
struct [[nodiscard]] DriverStatus {
  DriverCode code = DriverCode::ok;
  int native = 0;

  explicit operator bool() const { return code == DriverCode::ok; }
};

template <class T>
struct [[nodiscard]] DriverResult {
  DriverStatus status;
  T value{};

  explicit operator bool() const { return static_cast<bool>(status); }
};

struct Capabilities {
  std::string name;           // for people, "sim", "host", or the GPU's name
  Bytes segment_granularity;  // segments are handed out in multiples of this
  Bytes page_size;            // smallest page of Mapping; 0 where there is none
  bool readable = false;      // the bytes may be read and written by this process
  bool host_readable = true;  // the same for allocate_host; false only where nothing lies behind any address
};

struct MemoryInfo {
  Bytes free;
  Bytes total;
};

// Segments and host memory.
class Memory {
 public:
  virtual ~Memory() = default;

  virtual Capabilities capabilities() const = 0;
  virtual DriverResult<MemoryInfo> info() = 0;

  // A fresh range of at least `size` bytes, aligned to 512 B or better. size > 0.
  // out_of_memory leaves the driver usable, with no sticky error.
  virtual DriverResult<Address> allocate_segment(Bytes size) = 0;
  // `base` is what allocate_segment returned, `size` what it was asked for; waits for all work of the device first.
  virtual DriverStatus release_segment(Address base, Bytes size) = 0;

  // Page-locked host memory that the device can reach.
  virtual DriverResult<Address> allocate_host(Bytes size) = 0;
  virtual DriverStatus release_host(Address base, Bytes size) = 0;
  // Page-locks memory the caller owns.
  virtual DriverStatus register_host(Address base, Bytes size) = 0;
  virtual DriverStatus unregister_host(Address base) = 0;

  // Monotonic nanoseconds; the simulated device's own time on sim.
  virtual std::uint64_t clock_ns() = 0;
};

// A physical page of its own handle.
enum class PageHandle : std::uint64_t {};

struct PageOptions {
  bool exportable = false;
  bool rdma = false;
};

// Address space and physical pages apart.
class Mapping {
 public:
  virtual ~Mapping() = default;

  virtual DriverResult<Address> reserve(Bytes size) = 0;
  // Only when nothing is mapped in the range.
  virtual DriverStatus unreserve(Address base, Bytes size) = 0;
  virtual DriverResult<PageHandle> create_page(Bytes size, PageOptions options) = 0;
  // Gives the physical memory back once nothing maps it.
  virtual DriverStatus destroy_page(PageHandle page) = 0;
  // Maps `count` whole pages of `page_size` one after the other at `base`, then gives the owner and enabled peers
  // access to the whole range in one call. On failure nothing stays mapped.
  virtual DriverStatus map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) = 0;
  // The range is a sequence of whole mappings.
  virtual DriverStatus unmap(Address base, Bytes size) = 0;
};

enum class EventHandle : std::uint64_t {};

// Order of device work. `stream` is the native handle; null is the default stream.
class Ordering {
 public:
  virtual ~Ordering() = default;

  // A number that differs for every stream ever made, so that a re-created handle is not taken for the old stream.
  virtual DriverResult<std::uint64_t> stream_identity(void* stream) = 0;
  virtual DriverResult<EventHandle> create_event() = 0;
  virtual DriverStatus destroy_event(EventHandle event) = 0;
  virtual DriverStatus record(EventHandle event, void* stream) = 0;
  // ok, or not_ready.
  virtual DriverStatus query(EventHandle event) = 0;
  virtual DriverStatus wait_on_host(EventHandle event) = 0;
  virtual DriverStatus wait_on_stream(void* stream, EventHandle event) = 0;
  virtual DriverStatus synchronize_stream(void* stream) = 0;
  virtual DriverStatus synchronize_device() = 0;
  virtual DriverResult<bool> capture_open(void* stream) = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual Memory& memory() = 0;
  virtual Mapping* mapping() { return nullptr; }
  virtual Ordering* ordering() { return nullptr; }
  // The handle that stands for the host where the host owns every block (pinned memory): no device work is queued on
  // it, and every other handle, null included, is a stream of the device. Null where the device owns them.
  virtual void* host_stream() { return nullptr; }
};

}  // namespace quarry
