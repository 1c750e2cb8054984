// The paged policy under generated programs, judged after every step (support/paged_run.h). A failure prints the seed
// and the shrunk program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "support/paged_program.h"
#include "support/paged_run.h"

namespace quarry::paged {
namespace {

struct Setup {
  PlacementRule placement;
  std::uint64_t page_kib;
  bool mapping;
};

class PagedProperty : public testing::TestWithParam<Setup> {
 protected:
  Start start(StreamWaits waits = StreamWaits::few) const {
    return {.placement = GetParam().placement,
            .waits = waits,
            .page = {GetParam().page_kib << 10},
            .mapping = GetParam().mapping};
  }

  // False after a failure.
  bool holds(std::uint64_t seed, std::size_t steps, const Start& start, const Range& range) {
    const Program program = generate(seed, steps, start, range);
    const std::optional<Breach> breach = run(program, coverage_);
    if (breach) ADD_FAILURE() << "seed " << seed << ": " << explain(program);
    return !breach;
  }

  // `count` programs for each mode of waits and each size of device.
  void expect_all(std::uint64_t count, std::size_t steps, Range range) {
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      for (const StreamWaits waits : {StreamWaits::none, StreamWaits::few, StreamWaits::all}) {
        for (const bool tight : {false, true}) {
          range.tight_device = tight;
          if (!holds(seed * 7 + static_cast<std::uint64_t>(waits), steps, start(waits), range)) return;
        }
      }
    }
  }

  Coverage coverage_;
};
class PagedPropertyLong : public PagedProperty {};

TEST_P(PagedProperty, OneStream) {
  expect_all(4, 200, {});
  EXPECT_GT(coverage_.served, 500u);
  EXPECT_GT(coverage_.refused, 20u);
  EXPECT_GT(coverage_.growths, 50u);
  EXPECT_GT(coverage_.releases, 10u);
  if (!GetParam().mapping) return;
  EXPECT_GT(coverage_.stitched, 20u);
  EXPECT_GT(coverage_.alias_maps, 20u);
}

TEST_P(PagedProperty, SeveralStreams) {
  expect_all(4, 200, {.streams = kStreams});
  EXPECT_GT(coverage_.handed_over, 20u);
  if (!GetParam().mapping) return;
  EXPECT_GT(coverage_.stream_waits, 5u);
}

TEST_P(PagedProperty, PoolsAndStreams) {
  expect_all(4, 200, {.streams = kStreams, .pools = true});
  EXPECT_GT(coverage_.pool_requests, 50u);
}

TEST_P(PagedPropertyLong, ManyPrograms_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  for (const Range& range : {Range{}, Range{.streams = kStreams}, Range{.streams = kStreams, .pools = true}}) {
    expect_all(200, 400, range);
  }
}

std::string name(const testing::TestParamInfo<Setup>& info) {
  const Setup& setup = info.param;
  return std::string(setup.placement == PlacementRule::tight ? "tight_" : "fast_") + std::to_string(setup.page_kib) +
         "KiB" + (setup.mapping ? "" : "_contiguous");
}

const auto kSetups = testing::Values(Setup{PlacementRule::tight, 64, true}, Setup{PlacementRule::tight, 2048, true},
                                     Setup{PlacementRule::fast, 64, true}, Setup{PlacementRule::fast, 2048, true},
                                     Setup{PlacementRule::tight, 64, false}, Setup{PlacementRule::fast, 2048, false});
INSTANTIATE_TEST_SUITE_P(Setups, PagedProperty, kSetups, name);
INSTANTIATE_TEST_SUITE_P(Setups, PagedPropertyLong, kSetups, name);

}  // namespace
}  // namespace quarry::paged
