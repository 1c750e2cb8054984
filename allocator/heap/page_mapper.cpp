#include <quarry/allocator/heap/page_mapper.h>

#include <utility>

namespace quarry {
namespace {

// A driver that is shutting down has taken everything back already.
bool gone_or_ok(DriverStatus status) { return status || status.code == DriverCode::gone; }

}  // namespace

DriverResult<std::vector<PageHandle>> PageMapper::map(Address base, Bytes page_size, std::size_t count) {
  std::vector<PageHandle> pages;
  pages.reserve(count);
  while (pages.size() < count) {
    const DriverResult<PageHandle> page = mapping_->create_page(page_size, {});
    if (!page) {
      give_back(pages);
      return {page.status, {}};
    }
    pages.push_back(page.value);
  }
  DriverStatus status = mapping_->map(base, page_size, pages.data(), pages.size());
  if (status) return {{}, std::move(pages)};
  give_back(pages);
  if (status.code == DriverCode::out_of_memory) status.code = DriverCode::other;
  return {status, {}};
}

std::size_t PageMapper::unmap(Address base, Bytes page_size, const std::vector<PageHandle>& pages) {
  std::size_t done = 0;
  while (done < pages.size() && gone_or_ok(mapping_->unmap(base + page_size * done, page_size))) {
    give_back({pages[done++]});
  }
  return done;
}

void PageMapper::give_back(const std::vector<PageHandle>& pages) {
  retry();
  for (const PageHandle page : pages) {
    if (!gone_or_ok(mapping_->destroy_page(page))) kept_.push_back(page);
  }
}

void PageMapper::give_back(const Range& addresses) {
  retry();
  if (!gone_or_ok(mapping_->unreserve(addresses.base, addresses.size))) kept_addresses_.push_back(addresses);
}

DriverResult<Address> PageMapper::map_alias(Bytes page_size, const std::vector<PageHandle>& pages) {
  const Bytes size = page_size * pages.size();
  const DriverResult<Address> base = mapping_->reserve(size);
  if (!base) return base;
  const DriverStatus status = mapping_->map(base.value, page_size, pages.data(), pages.size());
  if (status) return base;
  give_back({base.value, size});
  return {status, {}};
}

DriverStatus PageMapper::unmap_alias(Address base, Bytes size) {
  const DriverStatus status = mapping_->unmap(base, size);
  if (!gone_or_ok(status)) return status;
  give_back({base, size});
  return {};
}

void PageMapper::retry() {
  std::erase_if(kept_, [&](PageHandle page) { return gone_or_ok(mapping_->destroy_page(page)); });
  std::erase_if(kept_addresses_,
                [&](const Range& range) { return gone_or_ok(mapping_->unreserve(range.base, range.size)); });
}

}  // namespace quarry
