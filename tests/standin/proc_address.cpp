// cuGetProcAddress: which entry points there are, each since the version of its signature.
#include <cstring>

#include <quarry/allocator/driver/cuda_entries.h>

#include "standin/machine.h"

namespace {

struct Entry {
  const char* name;
  void* function;
  int since;
};

#define QUARRY_STANDIN_ENTRY(name, version) {#name, reinterpret_cast<void*>(&::name), version},
const Entry kEntries[] = {
    // clang-format off
    QUARRY_CUDA_ENTRIES(QUARRY_STANDIN_ENTRY)
    // for the test programs
    QUARRY_STANDIN_ENTRY(cuStreamCreate, 2000)
    QUARRY_STANDIN_ENTRY(cuStreamDestroy, 4000)
    QUARRY_STANDIN_ENTRY(cuMemsetD32Async, 3020)
    QUARRY_STANDIN_ENTRY(cuMemcpyDtoHAsync, 3020)
    // clang-format on
};

}  // namespace

CUresult CUDAAPI cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                                  CUdriverProcAddressQueryResult* found) {
  const quarry::standin::Settings& settings = quarry::standin::machine().settings();
  *function = nullptr;
  CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.name, name) != 0 || settings.missing == name || entry.since > settings.version) continue;
    why = version >= entry.since ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (why == CU_GET_PROC_ADDRESS_SUCCESS) *function = entry.function;
  }
  if (found != nullptr) *found = why;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
