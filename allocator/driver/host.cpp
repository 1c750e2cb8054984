#include <quarry/allocator/driver/host.h>

#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <quarry/allocator/driver/address_space.h>
#include <quarry/allocator/driver/numa.h>
#include <quarry/allocator/driver/page_file.h>
#include <quarry/allocator/driver/page_table.h>
#include <quarry/allocator/driver/system_memory.h>

namespace quarry {

namespace {

constexpr Bytes kBigPage{2ull << 20};
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

void* pointer(Address address) { return reinterpret_cast<void*>(address.value); }

class HostDriver final : public Driver, public Memory, public Mapping {
 public:
  explicit HostDriver(const HostDriverOptions& options)
      : options_(options), nodes_(options.numa == HostNuma::interleave ? memory_nodes() : std::vector<unsigned>{}) {}
  ~HostDriver() override {
    for (const Ranges* ranges : {&segments_, &host_}) {
      for (const auto& [base, size] : *ranges) drop(base, whole_pages(size));
    }
    for (const auto& [base, size] : pages_.reservations()) drop(base, size);
    for (const auto& [base, size] : registered_) munlock(pointer(base), size.count);
  }

  Memory& memory() override { return *this; }
  Mapping* mapping() override { return options_.mapping ? this : nullptr; }

  Capabilities capabilities() const override { return {name(), page_, options_.mapping ? page_ : Bytes{}, true}; }
  DriverResult<MemoryInfo> info() override { return {{}, system_memory()}; }

  DriverResult<Address> allocate_segment(Bytes size) override { return allocate(size, segments_); }
  DriverStatus release_segment(Address base, Bytes size) override { return release(base, size, segments_); }
  DriverResult<Address> allocate_host(Bytes size) override { return allocate(size, host_); }
  DriverStatus release_host(Address base, Bytes size) override { return release(base, size, host_); }
  DriverStatus register_host(Address base, Bytes size) override;
  DriverStatus unregister_host(Address base) override;

  DriverResult<Address> reserve(Bytes size) override;
  DriverStatus unreserve(Address base, Bytes size) override;
  DriverResult<PageHandle> create_page(Bytes size, PageOptions options) override;
  DriverStatus destroy_page(PageHandle page) override;
  DriverStatus map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) override;
  DriverStatus unmap(Address base, Bytes size) override;

  std::uint64_t clock_ns() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  }

 private:
  using Ranges = std::map<Address, Bytes>;  // size as asked for

  // Failing to give addresses back when the driver ends leaves them mapped, and nobody to tell.
  static void drop(Address base, Bytes size) { static_cast<void>(drop_addresses(base, size)); }

  std::string name() const;
  void advise(Address base, Bytes size) const;
  Bytes whole_pages(Bytes size) const { return {whole_units(size.count, page_.count)}; }
  DriverResult<Address> allocate(Bytes size, Ranges& into);
  DriverStatus release(Address base, Bytes size, Ranges& from);

  std::uint64_t first_page(Address base) const { return base.value / page_.count * page_.count; }
  std::uint64_t page_end(Address base, Bytes size) const { return whole_units(base.value + size.count, page_.count); }
  bool shares_a_registered_page(Address base, Bytes size) const;

  const HostDriverOptions options_;
  const std::vector<unsigned> nodes_;  // to spread over; empty: pages stay where they are touched first
  const Bytes page_ = system_page_size();
  std::mutex mutex_;
  Ranges segments_;
  Ranges host_;
  Ranges registered_;
  PageTable pages_{page_};
  PageFile file_;
};

std::string HostDriver::name() const {
  std::string name = "host";
  if (options_.huge_pages) name += ", huge pages asked for";
  if (nodes_.size() > 1) name += ", interleaved over " + std::to_string(nodes_.size()) + " nodes";
  return name;
}

// Wishes: the memory is good without them.
void HostDriver::advise(Address base, Bytes size) const {
  if (options_.huge_pages && size >= kBigPage) static_cast<void>(madvise(pointer(base), size.count, MADV_HUGEPAGE));
  if (!nodes_.empty()) static_cast<void>(interleave(base, size, nodes_));
}

DriverResult<Address> HostDriver::allocate(Bytes size, Ranges& into) {
  if (size.count == 0) return {system_failure(EINVAL), {}};
  // The kernel promises more than it has; memory it could not back would kill the process at the first touch.
  if (size > system_memory().free) return {system_failure(ENOMEM), {}};
  const DriverResult<Address> mapped = take_memory(whole_pages(size), size >= kBigPage ? kBigPage : page_);
  if (!mapped) return mapped;
  advise(mapped.value, whole_pages(size));
  const std::lock_guard lock(mutex_);
  into.emplace(mapped.value, size);
  return mapped;
}

DriverStatus HostDriver::release(Address base, Bytes size, Ranges& from) {
  const std::lock_guard lock(mutex_);
  const auto found = from.find(base);
  if (found == from.end() || found->second != size) return system_failure(EINVAL);
  const DriverStatus dropped = drop_addresses(base, whole_pages(size));
  if (dropped) from.erase(found);
  return dropped;
}

DriverStatus HostDriver::register_host(Address base, Bytes size) {
  const bool whole = base.value != 0 && size.count != 0 && size.count <= kMost - page_.count &&
                     base.value <= kMost - page_.count - size.count;
  if (!whole) return system_failure(EINVAL);
  const std::lock_guard lock(mutex_);
  if (shares_a_registered_page(base, size)) return system_failure(EINVAL);
  if (mlock(pointer(base), size.count) != 0) return system_failure(errno);
  registered_.emplace(base, size);
  return {};
}

DriverStatus HostDriver::unregister_host(Address base) {
  const std::lock_guard lock(mutex_);
  const auto found = registered_.find(base);
  if (found == registered_.end()) return system_failure(EINVAL);
  if (munlock(pointer(base), found->second.count) != 0) return system_failure(errno);
  registered_.erase(found);
  return {};
}

// Locks do not count, so unlocking one of two ranges on a page would unlock the other too.
bool HostDriver::shares_a_registered_page(Address base, Bytes size) const {
  const auto after = registered_.lower_bound({page_end(base, size)});
  return after != registered_.begin() && page_end(std::prev(after)->first, std::prev(after)->second) > first_page(base);
}

DriverResult<Address> HostDriver::reserve(Bytes size) {
  if (!pages_.valid(size)) return {system_failure(EINVAL), {}};
  if (size.count > kMost - kBigPage.count) return {system_failure(ENOMEM), {}};
  const DriverResult<Address> taken = take_addresses(size, kBigPage);
  if (!taken) return taken;
  const std::lock_guard lock(mutex_);
  pages_.add_reservation(taken.value, size);
  return taken;
}

DriverStatus HostDriver::unreserve(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  if (!pages_.can_remove_reservation(base, size)) return system_failure(EINVAL);
  const DriverStatus dropped = drop_addresses(base, size);
  if (dropped) pages_.remove_reservation(base);
  return dropped;
}

DriverResult<PageHandle> HostDriver::create_page(Bytes size, PageOptions /*options*/) {
  if (!pages_.valid(size)) return {system_failure(EINVAL), {}};
  if (size > system_memory().free) return {system_failure(ENOMEM), {}};
  const std::lock_guard lock(mutex_);
  const DriverResult<std::uint64_t> place = file_.create(size);
  if (!place) return {place.status, {}};
  return {{}, pages_.add_page(size, place.value)};
}

DriverStatus HostDriver::destroy_page(PageHandle page) {
  const std::lock_guard lock(mutex_);
  if (pages_.find_page(page) == nullptr) return system_failure(EINVAL);
  const auto gone = pages_.destroy_page(page);
  return gone ? file_.destroy(gone->place, gone->size) : DriverStatus{};
}

DriverStatus HostDriver::map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (!pages_.can_map(base, page_size, pages, count)) return system_failure(EINVAL);
  for (std::size_t i = 0; i < count; ++i) {
    const DriverStatus mapped = file_.map(base + page_size * i, pages_.find_page(pages[i])->place, page_size);
    if (mapped) continue;
    // Where even this fails the bytes stay reachable, but the range counts as empty and can be mapped again.
    static_cast<void>(clear_memory(base, page_size * i));
    return mapped;
  }
  for (std::size_t i = 0; i < count; ++i) pages_.map(base + page_size * i, pages[i]);
  return {};
}

DriverStatus HostDriver::unmap(Address base, Bytes size) {
  const std::lock_guard lock(mutex_);
  if (!pages_.can_unmap(base, size)) return system_failure(EINVAL);
  if (const DriverStatus cleared = clear_memory(base, size); !cleared) return cleared;
  DriverStatus status;
  for (const PageTable::Page& gone : pages_.unmap(base, size)) {
    const DriverStatus freed = file_.destroy(gone.place, gone.size);
    if (!freed) status = freed;
  }
  return status;
}

}  // namespace

std::shared_ptr<Driver> make_host_driver(const HostDriverOptions& options) {
  return std::make_shared<HostDriver>(options);
}

}  // namespace quarry
