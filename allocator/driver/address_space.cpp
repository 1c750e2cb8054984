#include <quarry/allocator/driver/address_space.h>

#include <sys/mman.h>

#include <cerrno>

#include <quarry/allocator/driver/system_memory.h>

namespace quarry {

namespace {

constexpr int kReadWrite = PROT_READ | PROT_WRITE;
constexpr int kFresh = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int kOnlyAddresses = kFresh | MAP_NORESERVE;

void* pointer(Address address) { return reinterpret_cast<void*>(address.value); }

DriverResult<Address> take(Bytes size, Bytes alignment, int protection, int flags) {
  const Bytes page = system_page_size();
  const Bytes slack = alignment > page ? alignment - page : Bytes{};
  void* const mapped = mmap(nullptr, (size + slack).count, protection, flags, -1, 0);
  if (mapped == MAP_FAILED) return {system_failure(errno), {}};
  const Address begin{reinterpret_cast<std::uint64_t>(mapped)};
  const Address base{whole_units(begin.value, alignment.count)};
  // Cutting off the ends of a mapping just made cannot fail for want of memory; a failure would only leave them mapped.
  if (base > begin) munmap(mapped, (base - begin).count);
  if (base - begin < slack) munmap(pointer(base + size), (slack - (base - begin)).count);
  return {{}, base};
}

DriverStatus replace(Address at, Bytes size, int protection, int flags) {
  const void* const mapped = mmap(pointer(at), size.count, protection, flags | MAP_FIXED, -1, 0);
  return mapped == MAP_FAILED ? system_failure(errno) : DriverStatus{};
}

}  // namespace

DriverStatus system_failure(int error) {
  switch (error) {
    case ENOMEM:
    case EAGAIN:
    case ENOSPC:
    case EFBIG:
      return {DriverCode::out_of_memory, error};
    case EINVAL:
      return {DriverCode::invalid, error};
    case EPERM:
    case ENOSYS:
      return {DriverCode::unsupported, error};
    default:
      return {DriverCode::other, error};
  }
}

DriverResult<Address> take_memory(Bytes size, Bytes alignment) { return take(size, alignment, kReadWrite, kFresh); }

DriverResult<Address> take_addresses(Bytes size, Bytes alignment) {
  return take(size, alignment, PROT_NONE, kOnlyAddresses);
}

DriverStatus drop_addresses(Address base, Bytes size) {
  return munmap(pointer(base), size.count) == 0 ? DriverStatus{} : system_failure(errno);
}

DriverStatus put_memory(Address at, Bytes size) { return replace(at, size, kReadWrite, kFresh); }

DriverStatus clear_memory(Address at, Bytes size) { return replace(at, size, PROT_NONE, kOnlyAddresses); }

}  // namespace quarry
