#include "tensor/view_chains.h"
#include "tensor/places.h"

#include <cstdlib>

namespace quarry::tensor_tests {
namespace {

void run_chains(const Place& place, std::uint64_t count) {
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const std::string wrong = run_view_chain(place, seed);
    ASSERT_EQ(wrong, "") << "chain " << seed;
    ASSERT_EQ(place.memory().ledger().live_blocks, 0u) << "chain " << seed;
  }
}

class ViewChains : public EachPlace {};
QUARRY_IN_EACH_PLACE(ViewChains);

TEST_P(ViewChains, ReadAsNaiveCopies) { run_chains(place(), 100); }

// 10^5 chains: QUARRY_LONG=1 quarry_tensor_tests --gtest_filter='*ViewChainsLong.*'
class ViewChainsLong : public EachPlace {};
QUARRY_IN_EACH_PLACE(ViewChainsLong);

TEST_P(ViewChainsLong, ReadAsNaiveCopies) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  run_chains(place(), 100'000);
}

}  // namespace
}  // namespace quarry::tensor_tests
