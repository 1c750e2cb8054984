#include <quarry/allocator/driver/page_file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include <quarry/allocator/driver/address_space.h>

namespace quarry {

PageFile::~PageFile() {
  if (file_ >= 0) close(file_);
}

DriverResult<std::uint64_t> PageFile::create(Bytes size) {
  constexpr std::uint64_t kMostOffset = std::numeric_limits<off_t>::max();
  if (size.count > kMostOffset - end_) return {system_failure(ENOMEM), 0};
  if (file_ < 0) file_ = memfd_create("quarry_pages", MFD_CLOEXEC);
  if (file_ < 0) return {system_failure(errno), 0};
  if (ftruncate(file_, static_cast<off_t>(end_ + size.count)) != 0) return {system_failure(errno), 0};
  const std::uint64_t place = end_;
  end_ += size.count;
  return {{}, place};
}

DriverStatus PageFile::destroy(std::uint64_t place, Bytes size) {
  constexpr int kHole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const int done = fallocate(file_, kHole, static_cast<off_t>(place), static_cast<off_t>(size.count));
  return done == 0 ? DriverStatus{} : system_failure(errno);
}

DriverStatus PageFile::map(Address at, std::uint64_t place, Bytes size) {
  const void* const mapped = mmap(reinterpret_cast<void*>(at.value), size.count, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(place));
  return mapped == MAP_FAILED ? system_failure(errno) : DriverStatus{};
}

}  // namespace quarry
