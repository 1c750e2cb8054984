#include <quarry/allocator/sim/device.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <quarry/allocator/check.h>
#include <quarry/allocator/driver/page_table.h>
#include <quarry/allocator/sim/hazards.h>
#include <quarry/allocator/sim/memory.h>
#include <quarry/allocator/sim/streams.h>

namespace quarry::sim {

namespace {

// Segments lie below, host memory from there on, so that the two never meet.
constexpr Address kDeviceTop{std::uint64_t{1} << 63};
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

AddressLayout layout(const DeviceOptions& options, const RealMemory* real, Bytes size) {
  if (real == nullptr) return {options.base, options.base + size, options.granularity};
  return {real->device(), real->device() + RealMemory::kDeviceSize, options.granularity};
}

AddressLayout host_layout(const RealMemory* real, Bytes size) {
  if (real == nullptr) return {kDeviceTop, kDeviceTop + size, kHostPage};
  return {real->host(), real->host() + RealMemory::kHostSize, kHostPage};
}

}  // namespace

Device::Device(const DeviceOptions& options)
    : options_(options),
      profile_(find_profile(options.profile)),
      real_(options.backing == Backing::memfd ? std::make_unique<RealMemory>() : nullptr),
      layout_(layout(options, real_.get(), kLayoutSize)),
      host_layout_(host_layout(real_.get(), kLayoutSize)),
      pages_(std::make_unique<PageTable>(options.page_granularity)),
      streams_(std::make_unique<Streams>()),
      hazards_(std::make_unique<Hazards>()) {
  QUARRY_CHECK(profile_ != nullptr, "the cost profile has a known name");
  QUARRY_CHECK(options.granularity.count > 0 && options.granularity.count % 512 == 0,
               "the granularity is a multiple of 512 B");
  QUARRY_CHECK(options.page_granularity.count > 0 && options.page_granularity.count % kHostPage.count == 0,
               "the page granularity is a multiple of 4096 B");
  QUARRY_CHECK(options.backing == Backing::none || options.granularity.count % kHostPage.count == 0,
               "with real memory the granularity is a multiple of 4096 B");
  QUARRY_CHECK(options.base <= kDeviceTop - kLayoutSize, "the layout ends below 2^63");
}

Device::~Device() = default;

Capabilities Device::capabilities() const {
  return {"sim", options_.granularity, options_.mapping ? options_.page_granularity : Bytes{}, real_ != nullptr,
          real_ != nullptr};
}

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
  return {leave(Call::allocate_segment, size, code, at), at};
}

DriverStatus Device::release_segment(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::release_segment);
  if (code == DriverCode::ok) code = remove(base, size);
  return leave(Call::release_segment, size, code, base);
}

DriverResult<Address> Device::allocate_host(Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::allocate_host);
  Address at;
  if (code == DriverCode::ok) code = place_host(size, at);
  return {leave(Call::allocate_host, size, code, at), at};
}

DriverStatus Device::release_host(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::release_host);
  if (code == DriverCode::ok) code = remove_host(base, size);
  return leave(Call::release_host, size, code, base);
}

DriverStatus Device::register_host(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::register_host);
  if (code == DriverCode::ok) {
    const bool bad = base.value == 0 || size.count == 0 || wraps(base, size) ||
                     meets(registered_, base, size, [](Bytes taken) { return taken; }) ||
                     meets(host_, base, size, [](const Taken& range) { return range.size; });
    if (bad) {
      code = DriverCode::invalid;
    } else {
      registered_.emplace(base, size);
    }
  }
  return leave(Call::register_host, size, code, base);
}

DriverStatus Device::unregister_host(Address base) {
  const std::lock_guard lock(mutex_);
  DriverCode code = enter(Call::unregister_host);
  const auto found = registered_.find(base);
  if (code == DriverCode::ok && found == registered_.end()) code = DriverCode::invalid;
  if (code == DriverCode::ok) {
    end_range(base, found->second);
    registered_.erase(found);
  }
  return leave(Call::unregister_host, Bytes{}, code, base);
}

std::uint64_t Device::clock_ns() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(streams_->now());
}

DriverCode Device::Fault::strike() {
  if (in == 0) return DriverCode::ok;
  if (in > 1) {
    --in;
    return DriverCode::ok;
  }
  if (!repeat) in = 0;
  return code;
}

DriverCode Device::enter(Call call) {
  ++counts_[index(call)];
  const DriverCode one = faults_[index(call)].strike();
  const DriverCode any = any_fault_.strike();
  return one != DriverCode::ok ? one : any;
}

DriverStatus Device::leave(CallRecord record) {
  const CallCost& cost = profile_->cost[index(record.call)];
  double ns = cost.fixed_ns;
  if (record.result == DriverCode::ok) ns += cost.per_mib_ns * (static_cast<double>(record.size.count) / kMib);
  streams_->pass(ns);
  if (options_.record_calls) calls_.push_back(record);
  return {record.result, 0};
}

Bytes Device::free_bytes() const {
  const Bytes after_outside = options_.capacity - std::min(options_.capacity, outside_);
  return after_outside - std::min(after_outside, in_use_);
}

bool Device::is_free(Address at, Bytes size) const {
  return !meets(segments_, at, size, [](const Taken& range) { return range.span; }) &&
         !meets(pages_->reservations(), at, size, [](Bytes taken) { return taken; });
}

// A place that was wished for takes only the bytes asked for, because recorded segments may touch.
DriverCode Device::take_addresses(Taken& range, Bytes alignment, Address wish, Address& at) {
  if (wish.value == 0) {
    const std::optional<Address> found = layout_.take(range.span, alignment);
    if (!found) return DriverCode::out_of_memory;
    at = *found;
    return DriverCode::ok;
  }
  const bool outside = wish >= kDeviceTop || range.size > kDeviceTop - wish;
  if (outside || !is_free(wish, range.size)) return DriverCode::invalid;
  range.span = range.size;
  layout_.take_at(wish, range.span);
  at = wish;
  return DriverCode::ok;
}

DriverCode Device::place(Bytes size, Address& at) {
  if (size.count == 0) return DriverCode::invalid;
  const std::optional<Bytes> charge = round_up(size, options_.granularity);
  if (!charge || *charge > free_bytes()) return DriverCode::out_of_memory;
  Taken range{size, *charge};
  Address found;
  const Address wish = script_ != nullptr ? script_->next(size) : Address{};
  const DriverCode code = take_addresses(range, options_.granularity, wish, found);
  if (code != DriverCode::ok) return code;
  if (real_ && !put_memory(found, range.span)) {
    layout_.give_back(found, range.span);
    return DriverCode::out_of_memory;
  }
  segments_.emplace(found, range);
  in_use_ += *charge;
  at = found;
  return DriverCode::ok;
}

DriverCode Device::remove(Address base, Bytes size) {
  const auto found = segments_.find(base);
  if (found == segments_.end() || found->second.size != size) return DriverCode::invalid;
  if (options_.release_orders) streams_->host_saw_all();
  end_range(base, size);
  streams_->run_all();
  if (real_) static_cast<void>(clear_memory(base, found->second.span));
  layout_.give_back(base, found->second.span);
  in_use_ -= *round_up(size, options_.granularity);
  segments_.erase(found);
  return DriverCode::ok;
}

DriverCode Device::place_host(Bytes size, Address& at) {
  if (size.count == 0) return DriverCode::invalid;
  const std::optional<Bytes> span = round_up(size, kHostPage);
  const std::optional<Address> found = span ? host_layout_.take(*span) : std::nullopt;
  if (!found) return DriverCode::out_of_memory;
  if (real_ && !put_memory(*found, *span)) {
    host_layout_.give_back(*found, *span);
    return DriverCode::out_of_memory;
  }
  host_.emplace(*found, Taken{size, *span});
  at = *found;
  return DriverCode::ok;
}

DriverCode Device::remove_host(Address base, Bytes size) {
  const auto found = host_.find(base);
  if (found == host_.end() || found->second.size != size) return DriverCode::invalid;
  if (options_.release_orders) streams_->host_saw_all();
  end_range(base, size);
  streams_->run_all();
  if (real_) static_cast<void>(clear_memory(base, found->second.span));
  host_layout_.give_back(base, found->second.span);
  host_.erase(found);
  return DriverCode::ok;
}

// Memory with one address is about to go: nothing may still use it.
void Device::end_range(Address base, Bytes size) {
  const Places places{base.value, size, 0};
  hazards_->end(HazardKind::release, {0, 0, {base, size}, true}, {places}, streams_->host());
  hazards_->forget(places);
}

}  // namespace quarry::sim
