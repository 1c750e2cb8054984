// A simulated device behind the driver seam: deterministic, no bytes behind its addresses.
//
// It has a capacity, an address layout or scripted addresses, a cost per call, and can be told to fail a chosen call.
// Every misuse (release of an unknown segment, zero bytes) is `invalid`. Streams, events and mapping are not there yet.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/sim/address_layout.h>

namespace quarry::sim {

// The calls a backend can make, by the names they have in reports and faults.
enum class Call : std::uint8_t {
  info,
  allocate_segment,
  release_segment,
  allocate_host,
  release_host,
  register_host,
  unregister_host
};
inline constexpr std::array<std::string_view, 7> kCallNames = {
    "info", "allocate_segment", "release_segment", "allocate_host", "release_host", "register_host", "unregister_host"};

// Virtual nanoseconds a call takes: fixed + per_mib for each MiB of its size. A failed call costs the fixed part.
struct CallCost {
  double fixed_ns = 0;
  double per_mib_ns = 0;
};
struct CostProfile {
  std::string_view name;
  std::array<CallCost, kCallNames.size()> cost;
};
// Named profiles; "a100" is the default (reference/fragmentation.md). Null for an unknown name.
const CostProfile* find_profile(std::string_view name);

// Chooses where the next segment lies. Asked once the request is known to fit; called under the device's lock.
class AddressScript {
 public:
  virtual ~AddressScript() = default;
  virtual Address next(Bytes size) = 0;  // value 0 = no wish
};

struct CallRecord {
  Call call;
  Bytes size;
  DriverCode result;
};

struct DeviceOptions {
  Bytes capacity = kUnlimited;
  Bytes granularity{2ull << 20};  // segments occupy multiples of this; a multiple of 512
  // First address of the device's own layout, which is 2^56 bytes long, first fit; at most 2^63 - 2^56.
  Address base{0x7f0000000000};
  std::string_view profile = "a100";
  bool record_calls = false;  // keep a list for take_calls
};

// Thread-safe; one internal lock guards everything, as a driver's own would. The capacity is charged with what segments
// occupy (sizes rounded up to the granularity); host memory is not charged. Wrong options are CHECK failures.
class Device final : public Driver, public Memory {
 public:
  explicit Device(const DeviceOptions& options = {});
  ~Device() override;

  Memory& memory() override { return *this; }

  Capabilities capabilities() const override;
  DriverResult<MemoryInfo> info() override;
  DriverResult<Address> allocate_segment(Bytes size) override;
  DriverStatus release_segment(Address base, Bytes size) override;
  DriverResult<Address> allocate_host(Bytes size) override;
  DriverStatus release_host(Address base, Bytes size) override;
  DriverStatus register_host(Address base, Bytes size) override;
  DriverStatus unregister_host(Address base) override;
  std::uint64_t clock_ns() override;

  // The test bench's side. Bytes used by others on the device; capacity may change at any time.
  void set_capacity(Bytes capacity);
  void set_outside(Bytes used);
  // The `nth` next call of `call` (1 = the next) fails with `code`; `repeat` makes every later one fail too. One fault
  // per kind of call: a new one replaces the old, nth = 0 removes it. A call that fails so has no effect.
  void fail(Call call, std::uint64_t nth, DriverCode code = DriverCode::out_of_memory, bool repeat = false);
  // The caller keeps `script` alive; null goes back to the device's layout. An address that is in use, or not wholly
  // below 2^63, fails the request with `invalid`.
  void set_script(AddressScript* script);

  std::vector<CallRecord> take_calls();  // since the last take; empty unless record_calls
  std::array<std::uint64_t, kCallNames.size()> call_counts() const;
  Bytes in_use() const;  // bytes occupied by segments not released: 0 when nothing leaked
  std::uint64_t segments() const;

 private:
  struct Fault {
    std::uint64_t in = 0;  // calls until it strikes; 0 = none
    DriverCode code = DriverCode::ok;
    bool repeat = false;
  };

  struct Range {
    Bytes size;  // as asked for
    Bytes span;  // addresses it takes
  };

  // All with the lock held.
  DriverCode enter(Call call);                                 // counts; what a fault makes of the call
  DriverStatus leave(Call call, Bytes size, DriverCode code);  // costs, log
  Bytes free_bytes() const;
  DriverCode place(Bytes size, Address& at);
  DriverCode place_scripted(Bytes size, Address at);
  DriverCode remove(Address base, Bytes size);

  mutable std::mutex mutex_;
  DeviceOptions options_;
  const CostProfile* profile_;
  AddressScript* script_ = nullptr;
  AddressLayout layout_;
  AddressLayout host_layout_;
  std::map<Address, Range> segments_;
  std::map<Address, Range> host_;
  std::map<Address, Bytes> registered_;
  Bytes in_use_;
  Bytes outside_;
  double clock_ns_ = 0;
  std::array<Fault, kCallNames.size()> faults_{};
  std::array<std::uint64_t, kCallNames.size()> counts_{};
  std::vector<CallRecord> calls_;
};

// An allocator over a new simulated device.
Result<Allocator> open(const DeviceOptions& device = {}, const Options& options = {});

}  // namespace quarry::sim
