// Pages through the Mapping seam: runs that are created and mapped together, unmapped and given back one by one, and
// aliases of pages that are mapped already.
#pragma once

#include <cstddef>
#include <vector>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/types.h>

namespace quarry {

// What the driver does not take back is kept and tried again at every later call. Guard: the grow lock of the space.
class PageMapper {
 public:
  // `mapping` outlives the mapper; null where the driver has none, and then no page is ever asked for.
  explicit PageMapper(Mapping* mapping) : mapping_(mapping) {}
  ~PageMapper() { retry(); }
  PageMapper(const PageMapper&) = delete;
  PageMapper& operator=(const PageMapper&) = delete;

  // `count` new pages, mapped one after the other from `base` on. All or nothing. out_of_memory where no page could be
  // created, never for a map that failed: giving memory back would not help it.
  DriverResult<std::vector<PageHandle>> map(Address base, Bytes page_size, std::size_t count);
  // `pages` lie one after the other from `base` on. How many of them, from the first on, are unmapped now.
  std::size_t unmap(Address base, Bytes page_size, const std::vector<PageHandle>& pages);

  // The pages one after the other at a fresh address. Nothing stays mapped on failure.
  DriverResult<Address> map_alias(Bytes page_size, const std::vector<PageHandle>& pages);
  // On failure all of it is still mapped.
  DriverStatus unmap_alias(Address base, Bytes size);

 private:
  struct Range {
    Address base;
    Bytes size;
  };

  void give_back(const std::vector<PageHandle>& pages);
  void give_back(const Range& addresses);
  void retry();

  Mapping* mapping_;
  std::vector<PageHandle> kept_;
  std::vector<Range> kept_addresses_;
};

}  // namespace quarry
