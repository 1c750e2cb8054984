// A simulated device behind the driver seam: deterministic, with streams in virtual time, pages, and a hazard checker.
//
// It has a capacity, an address layout or scripted addresses, a cost per call, and can be told to fail a chosen call.
// Every misuse (release of an unknown segment, zero bytes, half an unmap) is `invalid`. Behind its addresses is
// nothing, or real memory of this process (Backing).
//
// Time. The device has one clock. A driver call advances it by its cost, a wait to the end of what it waits for,
// advance() by hand. Work is queued with a duration and runs in the order of its stream, after the events that the
// stream was told to wait for. With nothing queued before it, an event is finished as soon as it is recorded.
//
// Hazards are judged by happens-before, never by overlap in time: of two uses of the same bytes (through any alias),
// one of them a write, the earlier must be ordered before the later by queue order, record -> wait, a host
// synchronisation or a successful query. A range that is released or unmapped must be seen finished by the host.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/sim/address_layout.h>
#include <quarry/allocator/sim/hazard.h>

namespace quarry {
class PageTable;
}  // namespace quarry

namespace quarry::sim {

// The calls a backend can make, by the names they have in reports and faults. Mapping is counted in CUDA's calls:
// Mapping::map is one `map` (cuMemMap) for each page and then one `set_access` (cuMemSetAccess).
enum class Call : std::uint8_t {
  info,
  allocate_segment,
  release_segment,
  allocate_host,
  release_host,
  register_host,
  unregister_host,
  reserve,
  unreserve,
  create_page,
  destroy_page,
  map,
  set_access,
  unmap,
  stream_identity,
  create_event,
  destroy_event,
  record,
  query,
  wait_on_host,
  wait_on_stream,
  synchronize_stream,
  synchronize_device,
  capture_open
};
inline constexpr std::array<std::string_view, 24> kCallNames = {"info",
                                                                "allocate_segment",
                                                                "release_segment",
                                                                "allocate_host",
                                                                "release_host",
                                                                "register_host",
                                                                "unregister_host",
                                                                "reserve",
                                                                "unreserve",
                                                                "create_page",
                                                                "destroy_page",
                                                                "map",
                                                                "set_access",
                                                                "unmap",
                                                                "stream_identity",
                                                                "create_event",
                                                                "destroy_event",
                                                                "record",
                                                                "query",
                                                                "wait_on_host",
                                                                "wait_on_stream",
                                                                "synchronize_stream",
                                                                "synchronize_device",
                                                                "capture_open"};

// Virtual nanoseconds a call takes: fixed + per_mib for each MiB of its size. A failed call costs the fixed part.
struct CallCost {
  double fixed_ns = 0;
  double per_mib_ns = 0;
};
struct CostProfile {
  std::string_view name;
  std::array<CallCost, kCallNames.size()> cost;
};
// Named profiles; "a100" is the default (reference/fragmentation.md). Null for an unknown name. In the profile "free" a
// loop that queries an event takes no time, so it never sees timed work end.
const CostProfile* find_profile(std::string_view name);

// Chooses where the next segment or reservation lies. Asked once the request is known to fit; called under the device's
// lock. Value 0 = no wish.
class AddressScript {
 public:
  virtual ~AddressScript() = default;
  virtual Address next(Bytes size) = 0;
  virtual Address next_reservation(Bytes /*size*/) { return {}; }
};

struct CallRecord {
  Call call;
  Bytes size;  // of the segment, range or page; map: one page; set_access and unmap: the whole range
  DriverCode result;
  Address address{};       // memory and mapping: where, 0 if the call found no place
  Bytes offset{};          // map, set_access, unmap: `address` counted from the start of its reservation
  void* stream = nullptr;  // Ordering: the handle; query and wait_on_host: of the stream the event was recorded on
};

// What lies behind the addresses: nothing, or memory of this process (pages are ranges of a memory file, so aliases
// share bytes; at most 1 TiB of segments and reservations).
enum class Backing : std::uint8_t { none, memfd };

struct DeviceOptions {
  Bytes capacity = kUnlimited;
  Bytes granularity{2ull << 20};  // segments occupy multiples of this; a multiple of 512
  // First address of the device's own layout, which is 2^56 bytes long, first fit; at most 2^63 - 2^56. Not used with
  // Backing::memfd.
  Address base{0x7f0000000000};
  std::string_view profile = "a100";
  bool record_calls = false;           // keep a list for take_calls
  Bytes page_granularity{2ull << 20};  // of page and reservation sizes; a multiple of 4096
  bool mapping = true;                 // false: mapping() is null
  bool ordering = true;                // false: ordering() is null
  // release_segment always finishes the work of all streams. True: it also counts as a synchronisation, so that work
  // still queued at a release is no hazard.
  bool release_orders = false;
  Backing backing = Backing::none;
};

// What was got and not given back; all 0 when nothing leaked.
struct Holdings {
  std::uint64_t segments = 0;
  std::uint64_t host = 0;
  std::uint64_t registered = 0;
  std::uint64_t reservations = 0;
  std::uint64_t pages = 0;  // with physical memory: a destroyed page counts while it is mapped
  std::uint64_t mappings = 0;
  std::uint64_t events = 0;

  friend bool operator==(const Holdings&, const Holdings&) = default;
};

class Hazards;
class RealMemory;
class Streams;
struct Event;
struct Places;
struct Stream;

// Thread-safe; one internal lock guards everything, as a driver's own would. The capacity is charged with what segments
// occupy (sizes rounded up to the granularity) and with pages from their creation on; host memory is not charged. Wrong
// options are CHECK failures.
//
// A stream is any handle; it comes to life at its first use, null being the default stream, an ordinary one here. What
// a capturing stream cannot do is `invalid`, as in CUDA: events recorded in a capture cannot be queried or waited for
// by the host, the stream not be synchronised, nor the device while any capture is open.
class Device final : public Driver, public Memory, public Mapping, public Ordering {
 public:
  explicit Device(const DeviceOptions& options = {});
  ~Device() override;

  Memory& memory() override { return *this; }
  Mapping* mapping() override { return options_.mapping ? this : nullptr; }
  Ordering* ordering() override { return options_.ordering ? this : nullptr; }

  // Memory. Releases finish all work of the device first.
  Capabilities capabilities() const override;
  DriverResult<MemoryInfo> info() override;
  DriverResult<Address> allocate_segment(Bytes size) override;
  DriverStatus release_segment(Address base, Bytes size) override;
  DriverResult<Address> allocate_host(Bytes size) override;
  DriverStatus release_host(Address base, Bytes size) override;
  DriverStatus register_host(Address base, Bytes size) override;
  DriverStatus unregister_host(Address base) override;
  std::uint64_t clock_ns() override;

  // Mapping. Unmapping waits for nothing.
  DriverResult<Address> reserve(Bytes size) override;
  DriverStatus unreserve(Address base, Bytes size) override;
  DriverResult<PageHandle> create_page(Bytes size, PageOptions options) override;
  DriverStatus destroy_page(PageHandle page) override;
  DriverStatus map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) override;
  DriverStatus unmap(Address base, Bytes size) override;

  // Ordering.
  DriverResult<std::uint64_t> stream_identity(void* stream) override;
  DriverResult<EventHandle> create_event() override;
  DriverStatus destroy_event(EventHandle event) override;
  DriverStatus record(EventHandle event, void* stream) override;
  DriverStatus query(EventHandle event) override;
  DriverStatus wait_on_host(EventHandle event) override;
  DriverStatus wait_on_stream(void* stream, EventHandle event) override;
  DriverStatus synchronize_stream(void* stream) override;
  DriverStatus synchronize_device() override;
  DriverResult<bool> capture_open(void* stream) override;

  // ---- The test bench's side. No call below is counted, logged, or costs time. ----

  // Bytes used by others on the device; capacity may change at any time.
  void set_capacity(Bytes capacity);
  void set_outside(Bytes used);
  // The `nth` next call of `call` (1 = the next) fails with `code`; `repeat` makes every later one fail too. One fault
  // per kind of call: a new one replaces the old, nth = 0 removes it. A call that fails so has no effect; a
  // Mapping::map one of whose calls fails leaves nothing mapped.
  void fail(Call call, std::uint64_t nth, DriverCode code = DriverCode::out_of_memory, bool repeat = false);
  // The same, counted over calls of all kinds. Strikes beside the faults of single kinds.
  void fail_any(std::uint64_t nth, DriverCode code = DriverCode::out_of_memory, bool repeat = false);
  // The caller keeps `script` alive; null goes back to the device's layout. An address that is in use, or not wholly
  // below 2^63, fails the request with `invalid`. Not with Backing::memfd.
  void set_script(AddressScript* script);

  // Handles that are not null. Destroyed ones are handed out again, for a stream of a new identity; until then their
  // use is `invalid`. Work queued on a destroyed stream still runs. Handles the caller made up may be destroyed as
  // well: the next use is a new stream.
  void* create_stream();
  DriverStatus destroy_stream(void* stream);

  // Queues work, and returns its sequence number. `effect` runs when the work ends, in the order of virtual time, under
  // the device's lock. On a capturing stream nothing is queued and 0 returned. The stream must not be a destroyed one.
  std::uint64_t work(void* stream, std::uint64_t duration_ns, const std::vector<ByteRange>& reads = {},
                     const std::vector<ByteRange>& writes = {}, std::function<void()> effect = {});
  void advance(std::uint64_t ns);
  bool idle() const;  // all that was queued has run
  // What is queued on the stream from now on does not run / run what is queued so far / run all and hold no longer.
  // Waits and release_segment run what they wait for all the same.
  void hold(void* stream);
  void complete(void* stream);
  void unhold(void* stream);
  // The program (not the allocator) waits for the stream.
  void finish(void* stream);

  // `stream` starts a capture / ends the one it started, with all that joined / takes part in the capture begun last /
  // takes part no longer. `invalid` where that is not possible.
  DriverStatus begin_capture(void* stream);
  DriverStatus end_capture(void* stream);
  DriverStatus join_capture(void* stream);
  DriverStatus leave_capture(void* stream);

  // In the order found; the first thousand. take_ forgets them.
  std::vector<Hazard> hazards() const;
  std::vector<Hazard> take_hazards();

  std::vector<CallRecord> take_calls();  // since the last take; empty unless record_calls
  std::array<std::uint64_t, kCallNames.size()> call_counts() const;
  Bytes in_use() const;  // bytes of segments and pages that were not given back
  std::uint64_t segments() const;
  Holdings holdings() const;

 private:
  // What a layout can hand out: as much as the address space of a large machine, whatever the capacity.
  static constexpr Bytes kLayoutSize{std::uint64_t{1} << 56};

  struct Fault {
    std::uint64_t in = 0;  // calls until it strikes; 0 = none
    DriverCode code = DriverCode::ok;
    bool repeat = false;

    DriverCode strike();
  };

  struct Taken {
    Bytes size;  // as asked for
    Bytes span;  // addresses it takes
  };

  // All with the lock held.
  DriverCode enter(Call call);            // counts; what a fault makes of the call
  DriverStatus leave(CallRecord record);  // costs, log
  DriverStatus leave(Call call, Bytes size, DriverCode code, Address at = {}) { return leave({call, size, code, at}); }
  DriverStatus leave_ordering(Call call, void* stream, DriverCode code) {
    return leave({call, {}, code, {}, {}, stream});
  }
  Event* find_event(EventHandle event) const;
  Bytes free_bytes() const;
  bool is_free(Address at, Bytes size) const;
  DriverCode place(Bytes size, Address& at);
  DriverCode take_addresses(Taken& range, Bytes alignment, Address wish, Address& at);
  DriverCode remove(Address base, Bytes size);
  DriverCode place_host(Bytes size, Address& at);
  DriverCode remove_host(Address base, Bytes size);
  void end_range(Address base, Bytes size);
  DriverStatus map_page(Address at, Bytes offset, PageHandle page, Bytes size);
  void undo_map(Address base, Bytes offset, Bytes size);
  void unmap_pages(Address base, Bytes size);
  void give_back_page(std::uint64_t place, Bytes size);
  std::vector<Places> places_of(const ByteRange& range) const;
  void judge(const Stream& stream, const Use& use);

  mutable std::mutex mutex_;
  DeviceOptions options_;
  const CostProfile* profile_;
  AddressScript* script_ = nullptr;
  std::unique_ptr<RealMemory> real_;  // null with Backing::none
  AddressLayout layout_;
  AddressLayout host_layout_;
  std::map<Address, Taken> segments_;
  std::map<Address, Taken> host_;
  std::map<Address, Bytes> registered_;
  std::unique_ptr<PageTable> pages_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<Hazards> hazards_;
  Bytes in_use_;
  Bytes outside_;
  std::uint64_t next_place_ = 0;  // of a page, with Backing::none
  std::uint64_t next_event_ = 1;
  std::map<EventHandle, std::unique_ptr<Event>> events_;
  std::array<Fault, kCallNames.size()> faults_{};
  Fault any_fault_;
  std::array<std::uint64_t, kCallNames.size()> counts_{};
  std::vector<CallRecord> calls_;
};

// An allocator over a new simulated device.
Result<Allocator> open(const DeviceOptions& device = {}, const Options& options = {});

}  // namespace quarry::sim
