// The hunt: random programs of logical threads and streams on the simulated device. A failure prints the seed and the
// shrunk program as a script.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "support/hunt_program.h"
#include "support/hunt_run.h"

namespace quarry::hunt {
namespace {

constexpr std::size_t kSteps = 60;

// False after a failure.
bool clean(std::uint64_t seed, Coverage& coverage, Program (*make)(std::uint64_t, std::size_t) = generate) {
  const Program program = make(seed, kSteps);
  const std::optional<Breach> breach = run(program, coverage);
  if (breach) ADD_FAILURE() << "seed " << seed << ": " << explain(program);
  return !breach;
}

// And the schedules are worth running: whatever can meet does.
TEST(Hunt, AThousandSchedulesAreClean) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    if (!clean(seed, coverage)) return;
  }
  EXPECT_GE(coverage.served, 10'000u);
  EXPECT_GE(coverage.refused, 100u);
  EXPECT_GE(coverage.uses, 10'000u);
  EXPECT_GE(coverage.queries, 1'000u);
  EXPECT_GE(coverage.met_inside, 1'000u);
  EXPECT_GE(coverage.renewed, 500u);
  EXPECT_GE(coverage.unmaps, 500u);
  EXPECT_GE(coverage.captured, 500u);
  EXPECT_GE(coverage.launched, 400u);
}

// QUARRY_LONG=1 quarry_tests --gtest_filter='HuntLong.*'
TEST(HuntLong, AMillionSchedulesAreClean_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 1'000'000; ++seed) {
    if (!clean(seed * 104729, coverage)) return;
  }
}

TEST(Hunt, AThousandSchedulesOfThePagedPolicyAreClean) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    if (!clean(seed, coverage, generate_paged)) return;
  }
  EXPECT_GE(coverage.served, 10'000u);
  EXPECT_GE(coverage.refused, 100u);
  EXPECT_GE(coverage.queries, 1'000u);
  EXPECT_GE(coverage.met_inside, 1'000u);
  EXPECT_GE(coverage.renewed, 500u);
  EXPECT_GE(coverage.unmaps, 500u);
  EXPECT_GE(coverage.alias_maps, 300u);
  EXPECT_GE(coverage.stream_waits, 50u);
  EXPECT_GE(coverage.handed_over, 300u);
}

TEST(HuntLong, AMillionSchedulesOfThePagedPolicyAreClean_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 1'000'000; ++seed) {
    if (!clean(seed * 104729, coverage, generate_paged)) return;
  }
}

TEST(Hunt, TheSameSeedGivesTheSameProgram) {
  EXPECT_EQ(to_text(generate(7, kSteps)), to_text(generate(7, kSteps)));
  EXPECT_NE(to_text(generate(7, kSteps)), to_text(generate(8, kSteps)));
}

}  // namespace
}  // namespace quarry::hunt
