// What every driver must do, whatever owns the memory behind it: suites MemoryContract, MappingContract and
// OrderingContract, for each driver in the lists that the including test file gives:
//   INSTANTIATE_TEST_SUITE_P(NAME, MemoryContract, testing::Values(ContractDriver{...}), name_of);
// Include it in one test file of a program. A driver without Mapping or Ordering skips that suite.
#pragma once

#include "support/mapping_contract.h"
#include "support/memory_contract.h"
#include "support/ordering_contract.h"
