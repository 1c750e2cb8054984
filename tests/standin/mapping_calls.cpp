// Address space and physical pages. The rules are those of the simulated device; what is kept here is the step between
// cuMemMap and cuMemSetAccess, which the device takes as one.
#include <iterator>
#include <vector>

#include "standin/machine.h"

using quarry::Address;
using quarry::Bytes;
using quarry::DriverResult;
using quarry::DriverStatus;
using quarry::PageHandle;
using quarry::standin::Gpu;
using quarry::standin::machine;
using quarry::standin::Mapped;
using quarry::standin::result_of;

namespace {

using Mappings = std::map<Address, Mapped>;

bool meets(const Mappings& mapped, Address base, Bytes size) {
  const auto after = mapped.lower_bound(base + size);
  return after != mapped.begin() && std::prev(after)->first + std::prev(after)->second.size > base;
}

// The mappings that make up the range exactly; empty if none do.
std::vector<Mappings::iterator> whole(Mappings& mapped, Address base, Bytes size) {
  std::vector<Mappings::iterator> found;
  Address at = base;
  while (at < base + size) {
    const auto next = mapped.find(at);
    if (next == mapped.end()) return {};
    found.push_back(next);
    at = at + next->second.size;
  }
  return at == base + size ? found : std::vector<Mappings::iterator>{};
}

bool is_ours(const Gpu& gpu, const CUmemAllocationProp* page) {
  return page->type == CU_MEM_ALLOCATION_TYPE_PINNED && page->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         page->location.id == gpu.ordinal;
}

// The owner has to be among those who get access; the others must be devices there are.
bool grants(const Gpu& gpu, const CUmemAccessDesc* access, std::size_t count) {
  bool owner = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (machine().gpu(access[i].location.id) == nullptr) return false;
    owner = owner || access[i].location.id == gpu.ordinal;
  }
  return owner;
}

// Pages of one size that lie one after the other go to the device in one step.
CUresult give_access(Gpu& gpu, const std::vector<Mappings::iterator>& range) {
  std::vector<PageHandle> pages;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= range.size(); ++i) {
    const bool ends = i == range.size() || range[i]->second.size != range[from]->second.size;
    if (!ends) {
      pages.push_back(range[i]->second.page);
      continue;
    }
    if (!range[from]->second.accessible) {
      const DriverStatus status =
          gpu.device.mapping()->map(range[from]->first, range[from]->second.size, pages.data(), pages.size());
      if (!status) return result_of(status);
      for (std::size_t done = from; done < i; ++done) range[done]->second.accessible = true;
    }
    pages.clear();
    from = i;
    if (i < range.size()) pages.push_back(range[i]->second.page);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* at, std::size_t size, std::size_t, CUdeviceptr, unsigned long long) {
  return machine().on_device("cuMemAddressReserve", [&](Gpu& gpu) {
    const DriverResult<Address> got = gpu.device.reserve({size});
    *at = got.value.value;
    return result_of(got.status);
  });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr at, std::size_t size) {
  return machine().on_device("cuMemAddressFree", [&](Gpu& gpu) {
    if (meets(gpu.mapped, {at}, {size})) return CUDA_ERROR_INVALID_VALUE;
    return result_of(gpu.device.unreserve({at}, {size}));
  });
}

CUresult CUDAAPI cuMemGetAllocationGranularity(std::size_t* size, const CUmemAllocationProp* page,
                                               CUmemAllocationGranularity_flags) {
  return machine().call("cuMemGetAllocationGranularity", [&] {
    Gpu* const gpu = machine().gpu(page->location.id);
    if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *size = gpu->device.capabilities().page_size.count;
    return *size != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp* page,
                             unsigned long long) {
  return machine().on_device("cuMemCreate", [&](Gpu& gpu) {
    if (!is_ours(gpu, page)) return CUDA_ERROR_INVALID_VALUE;
    const bool exported = page->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const bool rdma = page->allocFlags.gpuDirectRDMACapable != 0;
    if (exported && !machine().settings().exportable) return CUDA_ERROR_NOT_SUPPORTED;
    if (rdma && !machine().settings().rdma) return CUDA_ERROR_NOT_SUPPORTED;
    const DriverResult<PageHandle> got = gpu.device.create_page({size}, {exported, rdma});
    *handle = static_cast<CUmemGenericAllocationHandle>(got.value);
    return result_of(got.status);
  });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  return machine().on_device("cuMemRelease",
                             [&](Gpu& gpu) { return result_of(gpu.device.destroy_page(PageHandle{handle})); });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr at, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags) {
  return machine().on_device("cuMemMap", [&](Gpu& gpu) {
    if (size == 0 || offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (meets(gpu.mapped, {at}, {size})) return CUDA_ERROR_INVALID_VALUE;
    gpu.mapped.emplace(Address{at}, Mapped{{size}, PageHandle{handle}});
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr at, std::size_t size, const CUmemAccessDesc* access, std::size_t count) {
  return machine().on_device("cuMemSetAccess", [&](Gpu& gpu) {
    const std::vector<Mappings::iterator> range = whole(gpu.mapped, {at}, {size});
    if (range.empty() || !grants(gpu, access, count)) return CUDA_ERROR_INVALID_VALUE;
    return give_access(gpu, range);
  });
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr at, std::size_t size) {
  return machine().on_device("cuMemUnmap", [&](Gpu& gpu) {
    const std::vector<Mappings::iterator> range = whole(gpu.mapped, {at}, {size});
    if (range.empty()) return CUDA_ERROR_INVALID_VALUE;
    if (range.front()->second.accessible) {
      const DriverStatus status = gpu.device.mapping()->unmap({at}, {size});
      if (!status) return result_of(status);
    }
    for (const Mappings::iterator mapping : range) gpu.mapped.erase(mapping);
    return CUDA_SUCCESS;
  });
}
