#include <quarry/allocator/driver/host.h>

#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>

#include <quarry/allocator/driver/system_memory.h>

namespace quarry {

namespace {

constexpr std::uint64_t kBigPage = 2ull << 20;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

void* pointer(Address address) { return reinterpret_cast<void*>(address.value); }

DriverStatus failed(int error) {
  switch (error) {
    case ENOMEM:
    case EAGAIN:
      return {DriverCode::out_of_memory, error};
    case EINVAL:
      return {DriverCode::invalid, error};
    case EPERM:
      return {DriverCode::unsupported, error};
    default:
      return {DriverCode::other, error};
  }
}

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

// A fresh mapping of `size` bytes (whole pages) whose address is a multiple of `alignment`.
DriverResult<Address> map_aligned(std::uint64_t size, std::uint64_t alignment, std::uint64_t page) {
  const std::uint64_t slack = alignment > page ? alignment - page : 0;
  void* const mapped = mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {failed(errno), {}};
  const auto begin = reinterpret_cast<std::uint64_t>(mapped);
  const std::uint64_t base = round_up(begin, alignment);
  // Cutting off the ends of a mapping just made cannot fail for want of memory; a failure would only leave them mapped.
  if (base > begin) munmap(mapped, base - begin);
  if (base - begin < slack) munmap(pointer({base + size}), slack - (base - begin));
  return {{}, {base}};
}

class HostDriver final : public Driver, public Memory {
 public:
  ~HostDriver() override {
    for (const Ranges* ranges : {&segments_, &host_}) {
      for (const auto& [base, size] : *ranges) munmap(pointer(base), whole_pages(size));
    }
    for (const auto& [base, size] : registered_) munlock(pointer(base), size.count);
  }

  Memory& memory() override { return *this; }

  Capabilities capabilities() const override { return {"host", page_, Bytes{}, true}; }
  DriverResult<MemoryInfo> info() override { return {{}, system_memory()}; }

  DriverResult<Address> allocate_segment(Bytes size) override { return allocate(size, segments_); }
  DriverStatus release_segment(Address base, Bytes size) override { return release(base, size, segments_); }
  DriverResult<Address> allocate_host(Bytes size) override { return allocate(size, host_); }
  DriverStatus release_host(Address base, Bytes size) override { return release(base, size, host_); }
  DriverStatus register_host(Address base, Bytes size) override;
  DriverStatus unregister_host(Address base) override;

  std::uint64_t clock_ns() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  }

 private:
  using Ranges = std::map<Address, Bytes>;  // size as asked for

  std::uint64_t whole_pages(Bytes size) const { return round_up(size.count, page_.count); }
  DriverResult<Address> allocate(Bytes size, Ranges& into);
  DriverStatus release(Address base, Bytes size, Ranges& from);

  std::uint64_t first_page(Address base) const { return base.value / page_.count * page_.count; }
  std::uint64_t page_end(Address base, Bytes size) const { return round_up(base.value + size.count, page_.count); }
  bool shares_a_registered_page(Address base, Bytes size) const;

  const Bytes page_ = system_page_size();
  std::mutex mutex_;
  Ranges segments_;
  Ranges host_;
  Ranges registered_;
};

DriverResult<Address> HostDriver::allocate(Bytes size, Ranges& into) {
  if (size.count == 0) return {failed(EINVAL), {}};
  // The kernel promises more than it has; memory it could not back would kill the process at the first touch.
  if (size > system_memory().free) return {failed(ENOMEM), {}};
  const std::uint64_t alignment = size.count >= kBigPage ? kBigPage : page_.count;
  const DriverResult<Address> mapped = map_aligned(whole_pages(size), alignment, page_.count);
  if (!mapped) return mapped;
  const std::lock_guard lock(mutex_);
  into.emplace(mapped.value, size);
  return mapped;
}

DriverStatus HostDriver::release(Address base, Bytes size, Ranges& from) {
  const std::lock_guard lock(mutex_);
  const auto found = from.find(base);
  if (found == from.end() || found->second != size) return failed(EINVAL);
  if (munmap(pointer(base), whole_pages(size)) != 0) return failed(errno);
  from.erase(found);
  return {};
}

DriverStatus HostDriver::register_host(Address base, Bytes size) {
  const bool whole = base.value != 0 && size.count != 0 && size.count <= kMost - page_.count &&
                     base.value <= kMost - page_.count - size.count;
  if (!whole) return failed(EINVAL);
  const std::lock_guard lock(mutex_);
  if (shares_a_registered_page(base, size)) return failed(EINVAL);
  if (mlock(pointer(base), size.count) != 0) return failed(errno);
  registered_.emplace(base, size);
  return {};
}

DriverStatus HostDriver::unregister_host(Address base) {
  const std::lock_guard lock(mutex_);
  const auto found = registered_.find(base);
  if (found == registered_.end()) return failed(EINVAL);
  if (munlock(pointer(base), found->second.count) != 0) return failed(errno);
  registered_.erase(found);
  return {};
}

// Locks do not count, so unlocking one of two ranges on a page would unlock the other too.
bool HostDriver::shares_a_registered_page(Address base, Bytes size) const {
  const auto after = registered_.lower_bound({page_end(base, size)});
  return after != registered_.begin() && page_end(std::prev(after)->first, std::prev(after)->second) > first_page(base);
}

}  // namespace

std::shared_ptr<Driver> make_host_driver() { return std::make_shared<HostDriver>(); }

}  // namespace quarry
