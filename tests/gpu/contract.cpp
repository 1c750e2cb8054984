// The contract suite on the GPU. Exits with 77 where there is none.
#include <gtest/gtest.h>

#include "gpu/raw_api.h"
#include "support/driver_contract.h"

namespace quarry::contract {
namespace {

void* make_stream(Driver&) {
  CUstream stream = nullptr;
  gpu::must(gpu::raw_api().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return stream;
}

void destroy_stream(Driver&, void* stream) {
  gpu::must(gpu::raw_api().cuStreamDestroy(static_cast<CUstream>(stream)), "cuStreamDestroy");
}

const ContractDriver kGpu{"cuda", gpu::open_gpu, make_stream, destroy_stream};

INSTANTIATE_TEST_SUITE_P(Gpu, MemoryContract, ::testing::Values(kGpu), name_of);
INSTANTIATE_TEST_SUITE_P(Gpu, MappingContract, ::testing::Values(kGpu), name_of);
INSTANTIATE_TEST_SUITE_P(Gpu, OrderingContract, ::testing::Values(kGpu), name_of);

}  // namespace
}  // namespace quarry::contract

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  quarry::gpu::open_gpu();
  return RUN_ALL_TESTS();
}
