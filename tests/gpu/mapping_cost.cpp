// Times every call of virtual memory management by the size of a handle.
//
// usage: gpu_mapping_cost [JSON_FILE] [BUDGET_MIB]    BUDGET_MIB bounds the memory taken at once, default 4096
#include <cuda.h>

#include <string>
#include <vector>

#include "gpu/raw_api.h"
#include "gpu/timings.h"

namespace quarry::gpu {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kMostPages = 256;
constexpr int kRounds = 5;

// A range with its handles.
struct Range {
  CUdeviceptr at = 0;
  std::uint64_t page = 0;
  std::size_t count = 0;

  std::uint64_t size() const { return page * count; }
  CUdeviceptr page_at(std::size_t i) const { return at + page * i; }
};

class Run {
 public:
  Run(Timings& timings, std::uint64_t page, std::size_t count) : timings_(timings), pages_(count) {
    home_.page = alias_.page = page;
    home_.count = alias_.count = count;
  }

  void all() {
    for (int i = 0; i < kRounds; ++i) {
      reserve(home_);
      reserve(alias_);
      create();
      by_page();
      by_range();
      each("release", [&](std::size_t page) { return api_.cuMemRelease(pages_[page]); });
      free_range(home_);
      free_range(alias_);
    }
  }

 private:
  void by_page() {
    map(home_, "map");
    each("access, page by page", [&](std::size_t i) { return set_access(home_.page_at(i), home_.page); });
    each("unmap, page by page", [&](std::size_t i) { return api_.cuMemUnmap(home_.page_at(i), home_.page); });
  }

  void by_range() {
    map(home_, "map again");
    whole("access, whole range", home_, [&] { return set_access(home_.at, home_.size()); });
    map(alias_, "map an alias");
    whole("access an alias, whole range", alias_, [&] { return set_access(alias_.at, alias_.size()); });
    whole("unmap an alias, whole range", alias_, [&] { return api_.cuMemUnmap(alias_.at, alias_.size()); });
    whole("unmap, whole range", home_, [&] { return api_.cuMemUnmap(home_.at, home_.size()); });
  }

  void reserve(Range& range) {
    timed("reserve the whole range", 1, [&] { return api_.cuMemAddressReserve(&range.at, range.size(), 0, 0, 0); });
  }
  void free_range(const Range& range) {
    timed("free the reservation", 1, [&] { return api_.cuMemAddressFree(range.at, range.size()); });
  }

  void create() {
    CUmemAllocationProp page{};
    page.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    page.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    each("create", [&](std::size_t i) { return api_.cuMemCreate(&pages_[i], home_.page, &page, 0); });
  }

  void map(const Range& range, const char* what) {
    each(what, [&](std::size_t i) { return api_.cuMemMap(range.page_at(i), range.page, 0, pages_[i], 0); });
  }

  CUresult set_access(CUdeviceptr at, std::uint64_t size) {
    CUmemAccessDesc owner{};
    owner.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    owner.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return api_.cuMemSetAccess(at, size, &owner, 1);
  }

  template <class F>
  void timed(const std::string& what, double per, F call) {
    timings_.sample(what, home_.page, time_ns([&] { must(call(), what.c_str()); }), per);
  }

  template <class F>
  void each(const char* what, F call) {
    for (std::size_t i = 0; i < pages_.size(); ++i) timed(what, 1, [&] { return call(i); });
  }

  // One call for all pages; the figures are for one page of it.
  template <class F>
  void whole(const char* what, const Range& range, F call) {
    timed(std::string(what) + ", a page", static_cast<double>(range.count), call);
  }

  const RawApi& api_ = raw_api();
  Timings& timings_;
  std::vector<CUmemGenericAllocationHandle> pages_;
  Range home_;
  Range alias_;
};

int run(const char* json, std::uint64_t budget_mib) {
  const std::shared_ptr<Driver> driver = open_gpu();
  if (driver->mapping() == nullptr) stop(1, "this device has no virtual memory management");
  const std::uint64_t smallest = driver->memory().capabilities().page_size.count;
  const std::uint64_t budget = std::min(budget_mib * kMiB, driver->memory().info().value.free.count / 2);
  Timings timings;
  for (std::uint64_t page = smallest; page <= 1024 * kMiB; page *= 2) {
    const std::uint64_t count = std::min<std::uint64_t>(kMostPages, budget / page);
    if (count >= 2) Run(timings, page, count).all();
  }
  timings.print("Virtual memory management by handle size");
  return json == nullptr || timings.write(json) ? 0 : 1;
}

}  // namespace
}  // namespace quarry::gpu

int main(int count, char** arguments) {
  return quarry::gpu::run(count > 1 ? arguments[1] : nullptr, count > 2 ? std::stoull(arguments[2]) : 4096);
}
