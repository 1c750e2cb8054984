// A file in memory whose ranges are the physical pages of the drivers that have no GPU: what is mapped twice shares its
// bytes.
#pragma once

#include <cstdint>

#include <quarry/allocator/driver/driver.h>

namespace quarry {

// Not synchronised; the owner locks. Sizes are multiples of the operating system's page.
class PageFile {
 public:
  PageFile() = default;
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  // A zeroed range of the file; memory is taken at the first touch. Ranges are never handed out twice.
  DriverResult<std::uint64_t> create(Bytes size);
  // Gives the memory back. What is still mapped reads zero.
  DriverStatus destroy(std::uint64_t place, Bytes size);
  // Puts the range behind addresses from take_addresses; clear_memory takes it away.
  DriverStatus map(Address at, std::uint64_t place, Bytes size);

 private:
  int file_ = -1;  // made by the first create
  std::uint64_t end_ = 0;
};

}  // namespace quarry
