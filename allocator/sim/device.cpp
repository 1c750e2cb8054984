#include <quarry/allocator/sim/device.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <quarry/allocator/check.h>

namespace quarry::sim {

namespace {

// Segments lie below, host memory from there on, so that the two never meet.
constexpr Address kDeviceTop{std::uint64_t{1} << 63};
// What a layout can hand out: as much as the address space of a large machine, whatever the capacity.
constexpr Bytes kLayoutSize{std::uint64_t{1} << 56};
constexpr Bytes kHostPage{4096};
constexpr double kMib = 1 << 20;

std::size_t index(Call call) { return static_cast<std::size_t>(call); }

bool wraps(Address base, Bytes size) { return size.count > std::numeric_limits<std::uint64_t>::max() - base.value; }

// True when a range of `taken` (by its begin; `size_of` gives its bytes) meets [base, base + size).
template <class Ranges, class SizeOf>
bool meets(const Ranges& taken, Address base, Bytes size, SizeOf size_of) {
  const auto after = taken.lower_bound(base + size);
  if (after == taken.begin()) return false;
  const auto last = std::prev(after);
  return last->first + size_of(last->second) > base;
}

}  // namespace

Device::Device(const DeviceOptions& options)
    : options_(options),
      profile_(find_profile(options.profile)),
      layout_(options.base, options.base + kLayoutSize, options.granularity),
      host_layout_(kDeviceTop, kDeviceTop + kLayoutSize, kHostPage) {
  QUARRY_CHECK(profile_ != nullptr, "the cost profile has a known name");
  QUARRY_CHECK(options.granularity.count > 0 && options.granularity.count % 512 == 0,
               "the granularity is a multiple of 512 B");
  QUARRY_CHECK(options.base <= kDeviceTop - kLayoutSize, "the layout ends below 2^63");
}

Device::~Device() = default;

Capabilities Device::capabilities() const { return {"sim", options_.granularity, Bytes{}, false}; }

DriverResult<MemoryInfo> Device::info() {
  const std::lock_guard lock(mutex_);
  const DriverStatus status = leave(Call::info, Bytes{}, enter(Call::info));
  if (!status) return {status, {}};
  return {status, {free_bytes(), options_.capacity}};
}

DriverResult<Address> Device::allocate_segment(Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::allocate_segment);
  Address at;
  if (code == DriverCode::ok) code = place(size, at);
  return {leave(Call::allocate_segment, size, code), at};
}

DriverStatus Device::release_segment(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::release_segment);
  if (code == DriverCode::ok) code = remove(base, size);
  return leave(Call::release_segment, size, code);
}

DriverResult<Address> Device::allocate_host(Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::allocate_host);
  Address at;
  if (code == DriverCode::ok) {
    const std::optional<Bytes> span = round_up(size, kHostPage);
    const std::optional<Address> place = size.count > 0 && span ? host_layout_.take(*span) : std::nullopt;
    if (place) {
      at = *place;
      host_.emplace(at, Range{size, *span});
    } else {
      code = size.count == 0 ? DriverCode::invalid : DriverCode::out_of_memory;
    }
  }
  return {leave(Call::allocate_host, size, code), at};
}

DriverStatus Device::release_host(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::release_host);
  if (code == DriverCode::ok) {
    const auto found = host_.find(base);
    if (found == host_.end() || found->second.size != size) {
      code = DriverCode::invalid;
    } else {
      host_layout_.give_back(base, found->second.span);
      host_.erase(found);
    }
  }
  return leave(Call::release_host, size, code);
}

DriverStatus Device::register_host(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::register_host);
  if (code == DriverCode::ok) {
    const bool bad = base.value == 0 || size.count == 0 || wraps(base, size) ||
                     meets(registered_, base, size, [](Bytes taken) { return taken; }) ||
                     meets(host_, base, size, [](const Range& range) { return range.size; });
    if (bad) {
      code = DriverCode::invalid;
    } else {
      registered_.emplace(base, size);
    }
  }
  return leave(Call::register_host, size, code);
}

DriverStatus Device::unregister_host(Address base) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::unregister_host);
  if (code == DriverCode::ok && registered_.erase(base) == 0) code = DriverCode::invalid;
  return leave(Call::unregister_host, Bytes{}, code);
}

std::uint64_t Device::clock_ns() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(clock_ns_);
}

void Device::set_capacity(Bytes capacity) {
  const std::lock_guard lock(mutex_);
  options_.capacity = capacity;
}

void Device::set_outside(Bytes used) {
  const std::lock_guard lock(mutex_);
  outside_ = used;
}

void Device::fail(Call call, std::uint64_t nth, DriverCode code, bool repeat) {
  const std::lock_guard lock(mutex_);
  faults_[index(call)] = {nth, code, repeat};
}

void Device::set_script(AddressScript* script) {
  const std::lock_guard lock(mutex_);
  script_ = script;
}

std::vector<CallRecord> Device::take_calls() {
  const std::lock_guard lock(mutex_);
  return std::exchange(calls_, {});
}

std::array<std::uint64_t, kCallNames.size()> Device::call_counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Bytes Device::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::uint64_t Device::segments() const {
  const std::lock_guard lock(mutex_);
  return segments_.size();
}

DriverCode Device::enter(Call call) {
  ++counts_[index(call)];
  Fault& fault = faults_[index(call)];
  if (fault.in == 0) return DriverCode::ok;
  if (fault.in > 1) {
    --fault.in;
    return DriverCode::ok;
  }
  if (!fault.repeat) fault.in = 0;
  return fault.code;
}

DriverStatus Device::leave(Call call, Bytes size, DriverCode code) {
  const CallCost& cost = profile_->cost[index(call)];
  clock_ns_ += cost.fixed_ns;
  if (code == DriverCode::ok) clock_ns_ += cost.per_mib_ns * (static_cast<double>(size.count) / kMib);
  if (options_.record_calls) calls_.push_back({call, size, code});
  return {code, 0};
}

Bytes Device::free_bytes() const {
  const Bytes after_outside = options_.capacity - std::min(options_.capacity, outside_);
  return after_outside - std::min(after_outside, in_use_);
}

DriverCode Device::place(Bytes size, Address& at) {
  if (size.count == 0) return DriverCode::invalid;
  const std::optional<Bytes> charge = round_up(size, options_.granularity);
  if (!charge || *charge > free_bytes()) return DriverCode::out_of_memory;
  const Address wish = script_ != nullptr ? script_->next(size) : Address{};
  if (wish.value != 0) {
    const DriverCode code = place_scripted(size, wish);
    if (code != DriverCode::ok) return code;
    at = wish;
  } else {
    const std::optional<Address> found = layout_.take(*charge);
    if (!found) return DriverCode::out_of_memory;
    at = *found;
    segments_.emplace(at, Range{size, *charge});
  }
  in_use_ += *charge;
  return DriverCode::ok;
}

DriverCode Device::place_scripted(Bytes size, Address at) {
  const bool outside = at >= kDeviceTop || size > kDeviceTop - at;
  if (outside || meets(segments_, at, size, [](const Range& range) { return range.span; })) return DriverCode::invalid;
  layout_.take_at(at, size);
  segments_.emplace(at, Range{size, size});
  return DriverCode::ok;
}

DriverCode Device::remove(Address base, Bytes size) {
  const auto found = segments_.find(base);
  if (found == segments_.end() || found->second.size != size) return DriverCode::invalid;
  layout_.give_back(base, found->second.span);
  in_use_ -= *round_up(size, options_.granularity);
  segments_.erase(found);
  return DriverCode::ok;
}

}  // namespace quarry::sim
