// Runs of pages through the Mapping seam: created and mapped together, unmapped and given back one by one.
#pragma once

#include <cstddef>
#include <vector>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/types.h>

namespace quarry {

// Pages the driver does not take back are kept and tried again at every later call. Guard: the grow lock of the space.
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

 private:
  void give_back(const std::vector<PageHandle>& pages);
  void retry();

  Mapping* mapping_;
  std::vector<PageHandle> kept_;
};

}  // namespace quarry
