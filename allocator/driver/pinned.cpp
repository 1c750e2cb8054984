#include <quarry/allocator/driver/pinned.h>

#include <sys/resource.h>

#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <quarry/allocator/driver/address_space.h>
#include <quarry/allocator/driver/host_ordering.h>
#include <quarry/allocator/driver/page_touch.h>
#include <quarry/allocator/driver/system_memory.h>
#include <quarry/allocator/options.h>

namespace quarry {
namespace {

constexpr Bytes kMostAddresses{1ull << 47};
constexpr Bytes kAlignment{2ull << 20};

std::shared_ptr<Driver> ordinary_memory(const PinnedDriverOptions& options) {
  HostDriverOptions host = options.host;
  host.mapping = false;
  return make_host_driver(host);
}

// Ranges handed out. A range that is being given back is in no list, so that nobody else can give it back too.
class Ranges {
 public:
  struct Range {
    Bytes size;
    bool locked = false;  // by register_host
  };
  void add(Address base, Range range) {
    const std::lock_guard lock(mutex_);
    ranges_.emplace(base, range);
  }
  std::optional<Range> take(Address base, Bytes size) {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(base);
    if (found == ranges_.end() || found->second.size != size) return std::nullopt;
    const Range range = found->second;
    ranges_.erase(found);
    return range;
  }
  Bytes bytes(bool locked) const {
    const std::lock_guard lock(mutex_);
    Bytes sum;
    for (const auto& [base, range] : ranges_) {
      if (range.locked == locked) sum += range.size;
    }
    return sum;
  }
  std::map<Address, Range> all() const {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Address, Range> ranges_;
};

// What both kinds share: two lists of ranges, one way to get a range and one to give it back.
class PinnedMemory : public Driver, public Memory {
 public:
  Memory& memory() override { return *this; }
  void* host_stream() override { return HostOrdering::host_stream(); }

  DriverResult<Address> allocate_segment(Bytes size) override { return allocate(size, segments_); }
  DriverStatus release_segment(Address base, Bytes size) override { return release(base, size, segments_); }
  DriverResult<Address> allocate_host(Bytes size) override { return allocate(size, host_); }
  DriverStatus release_host(Address base, Bytes size) override { return release(base, size, host_); }

 protected:
  virtual DriverResult<Address> get(Bytes size, Ranges::Range& range) = 0;
  // On failure the range says what of it is still done.
  virtual DriverStatus give_back(Address base, Ranges::Range& range) = 0;

  // For destructors: failures leave the memory where it is, and there is nobody to tell.
  void drop_all() {
    for (Ranges* ranges : {&segments_, &host_}) {
      for (auto& [base, range] : ranges->all()) static_cast<void>(give_back(base, range));
    }
  }
  const Ranges& segments() const { return segments_; }

 private:
  DriverResult<Address> allocate(Bytes size, Ranges& into) {
    if (size.count == 0) return {{DriverCode::invalid}, {}};
    if (size > kMostAddresses) return {{DriverCode::out_of_memory}, {}};
    Ranges::Range range{size};
    const DriverResult<Address> got = get(size, range);
    if (got) into.add(got.value, range);
    return got;
  }
  DriverStatus release(Address base, Bytes size, Ranges& from) {
    std::optional<Ranges::Range> range = from.take(base, size);
    if (!range) return {DriverCode::invalid};
    const DriverStatus status = give_back(base, *range);
    if (!status && status.code != DriverCode::gone) from.add(base, *range);
    return status;
  }

  Ranges segments_;
  Ranges host_;
};

class PinnedDriver final : public PinnedMemory {
 public:
  PinnedDriver(std::shared_ptr<Driver> device, const PinnedDriverOptions& options)
      : device_(std::move(device)),
        at_device_(device_->memory()),
        options_(options),
        ordinary_(ordinary_memory(options)) {
    if (device_->ordering() != nullptr) ordering_.emplace(*device_->ordering());
  }
  ~PinnedDriver() override { drop_all(); }

  Ordering* ordering() override { return ordering_ ? &*ordering_ : nullptr; }

  Capabilities capabilities() const override {
    const Capabilities device = at_device_.capabilities();
    const bool bytes = device.host_readable;
    const std::string name = options_.registers ? ", registered" : "";
    return {"pinned memory of " + device.name + name, system_page_size(), {}, bytes, bytes};
  }
  // Where nothing lies behind the addresses, there is no end to them.
  DriverResult<MemoryInfo> info() override {
    if (!at_device_.capabilities().host_readable) return {{}, {kUnlimited, kUnlimited}};
    return {{}, system_memory()};
  }
  DriverStatus register_host(Address base, Bytes size) override { return at_device_.register_host(base, size); }
  DriverStatus unregister_host(Address base) override { return at_device_.unregister_host(base); }
  std::uint64_t clock_ns() override { return at_device_.clock_ns(); }

 private:
  DriverResult<Address> get(Bytes size, Ranges::Range& range) override {
    if (!options_.registers) return at_device_.allocate_host(size);
    const DriverResult<Address> base = take_ordinary(size);
    if (!base) return base;
    const DriverStatus registered = at_device_.register_host(base.value, size);
    range.locked = static_cast<bool>(registered);
    if (registered) return base;
    static_cast<void>(drop_ordinary(base.value, size));
    return {registered, {}};
  }

  DriverStatus give_back(Address base, Ranges::Range& range) override {
    if (!options_.registers) return at_device_.release_host(base, range.size);
    if (range.locked) {
      const DriverStatus status = at_device_.unregister_host(base);
      if (!status && status.code != DriverCode::gone) return status;
      range.locked = false;
    }
    return drop_ordinary(base, range.size);
  }

  // Nobody touches memory of a device that has addresses only.
  DriverResult<Address> take_ordinary(Bytes size) {
    if (!at_device_.capabilities().host_readable) return take_addresses(whole_pages(size), kAlignment);
    const DriverResult<Address> base = ordinary_->memory().allocate_segment(size);
    if (base) touch_pages(base.value, size, options_.touch_threads);
    return base;
  }
  DriverStatus drop_ordinary(Address base, Bytes size) {
    if (!at_device_.capabilities().host_readable) return drop_addresses(base, whole_pages(size));
    return ordinary_->memory().release_segment(base, size);
  }
  static Bytes whole_pages(Bytes size) { return {whole_units(size.count, system_page_size().count)}; }

  const std::shared_ptr<Driver> device_;
  Memory& at_device_;
  const PinnedDriverOptions options_;
  const std::shared_ptr<Driver> ordinary_;
  std::optional<HostOrdering> ordering_;
};

class LockedDriver final : public PinnedMemory {
 public:
  explicit LockedDriver(const PinnedDriverOptions& options) : options_(options), ordinary_(ordinary_memory(options)) {}
  ~LockedDriver() override { drop_all(); }

  Capabilities capabilities() const override { return {name(), system_page_size(), {}, true}; }
  DriverResult<MemoryInfo> info() override { return ordinary_->memory().info(); }
  DriverStatus register_host(Address base, Bytes size) override {
    return ordinary_->memory().register_host(base, size);
  }
  DriverStatus unregister_host(Address base) override { return ordinary_->memory().unregister_host(base); }
  std::uint64_t clock_ns() override { return ordinary_->memory().clock_ns(); }

 private:
  // mlock gets the pages by itself, in one thread; touching them before is what several can do.
  DriverResult<Address> get(Bytes size, Ranges::Range& range) override {
    const DriverResult<Address> base = ordinary_->memory().allocate_segment(size);
    if (!base) return base;
    if (options_.touch_threads > 1) touch_pages(base.value, size, options_.touch_threads);
    range.locked = static_cast<bool>(ordinary_->memory().register_host(base.value, size));
    return base;
  }
  DriverStatus give_back(Address base, Ranges::Range& range) override {
    if (range.locked) {
      if (const DriverStatus status = ordinary_->memory().unregister_host(base); !status) return status;
      range.locked = false;
    }
    return ordinary_->memory().release_segment(base, range.size);
  }

  static std::string limit() {
    rlimit most{};
    if (getrlimit(RLIMIT_MEMLOCK, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return "no limit";
    return "limit " + std::to_string(most.rlim_cur) + " bytes";
  }
  std::string name() const {
    const Bytes open = segments().bytes(false);
    if (open == Bytes{}) return "pinned memory without a device, locked (" + limit() + ")";
    return "pinned memory without a device, " + std::to_string(segments().bytes(true).count) + " bytes locked, " +
           std::to_string(open.count) + " not (" + limit() + ")";
  }

  const PinnedDriverOptions options_;
  const std::shared_ptr<Driver> ordinary_;
};

}  // namespace

std::shared_ptr<Driver> make_pinned_driver(std::shared_ptr<Driver> device, const PinnedDriverOptions& options) {
  return std::make_shared<PinnedDriver>(std::move(device), options);
}

std::shared_ptr<Driver> make_locked_driver(const PinnedDriverOptions& options) {
  return std::make_shared<LockedDriver>(options);
}

}  // namespace quarry
