// A fault at the driver calls of programs that stitch, grow, lend pages between pools, wait, trim aliases and give
// back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/faults/paged_fault_run.h"

namespace quarry::paged {
namespace {

using test::DriverFault;

constexpr Bytes kPage{64 << 10};
constexpr std::uint64_t kShare = 10;  // one fault in ten belongs to the normal run

bool is_long() { return std::getenv("QUARRY_LONG") != nullptr; }

// Steps by hand.
class Script {
 public:
  explicit Script(PlacementRule placement) { program_.start = {.placement = placement, .page = kPage}; }

  Program program() const { return program_; }
  Script& alloc(std::uint32_t block, std::uint64_t size, std::uint32_t stream = 0) {
    return add({.act = Act::allocate, .block = block, .stream = stream, .amount = size});
  }
  Script& contiguous(std::uint32_t block, std::uint64_t size) {
    return add({.act = Act::allocate, .block = block, .flag = true, .amount = size});
  }
  Script& pages(std::uint32_t first, std::uint32_t count, std::uint32_t stream = 0) {
    for (std::uint32_t i = 0; i < count; ++i) alloc(first + i, kPage.count, stream);
    return *this;
  }
  Script& free(std::uint32_t block) { return add({.act = Act::free, .block = block}); }
  // Every second of them.
  Script& free_some(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; i += 2) free(first + i);
    return *this;
  }
  Script& use(std::uint32_t block, std::uint32_t stream, std::uint64_t ns = 1000) {
    return add({.act = Act::write, .block = block, .stream = stream, .amount = ns});
  }
  Script& wait(std::uint32_t waiter, std::uint32_t on) {
    return add({.act = Act::wait, .stream = waiter, .other = on});
  }
  Script& then(Act act, std::uint32_t pool = 0) { return add({.act = act, .pool = pool}); }

 private:
  Script& add(const Step& step) {
    program_.operations.push_back(step);
    return *this;
  }
  Program program_;
};

// Pieces, ends of pages, new pages between old ones; the same again from idle aliases; all given back twice.
Program stitching(PlacementRule placement) {
  Script script(placement);
  script.pages(0, 8).alloc(20, kPage.count / 2 + 512).free_some(0, 8).alloc(21, kPage.count * 4);
  script.alloc(22, kPage.count * 3 + 5000).free(21).alloc(23, kPage.count * 6 + 700).free(22).free(23);
  script.alloc(24, kPage.count * 4).free(24).then(Act::empty_cache).alloc(25, kPage.count * 5 + 1);
  script.contiguous(26, kPage.count * 2).free(25).free(26).then(Act::empty_cache);
  return script.program();
}

Program lending(PlacementRule placement) {
  Script script(placement);
  script.pages(0, 6).free_some(0, 6).then(Act::begin_pool, 1).alloc(10, kPage.count * 3).alloc(11, kPage.count * 2 + 1);
  script.free(10).then(Act::end_pool, 1).alloc(12, kPage.count * 2).then(Act::release_pool, 1).free(11);
  script.alloc(13, kPage.count * 5).then(Act::empty_pool, 1).then(Act::empty_cache).then(Act::begin_pool, 2);
  script.then(Act::no_split, 2).alloc(14, 3000).free(14).then(Act::end_pool, 2).then(Act::release_pool, 2);
  script.free(12).free(13).then(Act::empty_cache);
  return script.program();
}

// Ranges of two streams, waits instead of pages, frees that wait for work elsewhere, a stream that goes.
Program ordering(PlacementRule placement) {
  Script script(placement);
  script.pages(0, 6, 1).pages(10, 2, 2).wait(2, 1);
  for (std::uint32_t block = 0; block < 6; ++block) script.use(block, 1);
  script.free_some(0, 6).alloc(20, kPage.count * 3, 2).use(20, 2).use(20, 3).free(20).free(1);
  script.alloc(21, kPage.count * 4 + 512, 1).use(21, 1).free(21).alloc(22, kPage.count * 4, 2);
  script.then(Act::advance).alloc(23, kPage.count * 7, 3).free(22).then(Act::empty_cache);
  Program program = script.program();
  program.start.waits = StreamWaits::all;
  program.start.capacity = kPage * 24;
  program.operations.push_back({.act = Act::retire, .stream = 1});
  program.operations.push_back({.act = Act::allocate, .block = 30, .stream = 1, .amount = kPage.count * 3});
  return program;
}

// More aliases than may lie idle: pairs of pages, most of which do not lie side by side.
Program trimming(PlacementRule placement) {
  constexpr std::uint32_t kCount = 200;
  Script script(placement);
  script.pages(0, kCount);
  std::mt19937_64 random(20261204);
  for (int i = 0; i < 4900; ++i) {
    const auto one = static_cast<std::uint32_t>(random() % kCount);
    const auto two = static_cast<std::uint32_t>((one + 1 + random() % (kCount - 1)) % kCount);
    script.free(one).free(two).alloc(kCount, kPage.count * 2).free(kCount).pages(one, 1).pages(two, 1);
  }
  return script.program();
}

// Every call, with both codes, once and from there on; one fault in `share`, seeded.
std::vector<DriverFault> faults(std::uint64_t from, std::uint64_t to, std::uint64_t share) {
  std::mt19937_64 random(20261202);
  std::vector<DriverFault> chosen;
  for (std::uint64_t nth = from; nth <= to; ++nth) {
    for (const DriverCode code : {DriverCode::out_of_memory, DriverCode::other}) {
      for (const bool repeat : {false, true}) {
        if (random() % share == 0) chosen.push_back({nth, code, repeat});
      }
    }
  }
  return chosen;
}

// The number of runs; stops at the first breach.
std::uint64_t sweep(const Program& program, const std::vector<DriverFault>& chosen, std::size_t check_every = 1) {
  std::uint64_t runs = 0;
  for (const DriverFault& fault : chosen) {
    const FaultedRun run = run_with_fault(program, fault, check_every);
    ++runs;
    if (run.breach.empty()) continue;
    ADD_FAILURE() << to_text(fault) << ": " << run.breach << "\n" << (check_every == 1 ? to_text(program) : "");
    break;
  }
  return runs;
}

FaultedRun without_fault(const Program& program, std::size_t check_every = 1) {
  FaultedRun run = run_with_fault(program, {}, check_every);
  EXPECT_EQ(run.breach, "") << "without a fault";
  return run;
}

class PagedFaults : public testing::TestWithParam<PlacementRule> {
 protected:
  static std::uint64_t strike(const Program& program, std::uint64_t share) {
    return sweep(program, faults(1, without_fault(program).calls, share));
  }
};
class PagedFaultsLong : public PagedFaults {};

TEST_P(PagedFaults, TheProgramsDoWhatTheyAreFor) {
  EXPECT_GE(without_fault(stitching(GetParam())).alias_maps, 2u);
  EXPECT_GE(without_fault(lending(GetParam())).alias_maps, 1u);
  EXPECT_GE(without_fault(ordering(GetParam())).stream_waits, 1u);
}

TEST_P(PagedFaults, OfStitching) { EXPECT_GT(strike(stitching(GetParam()), 2), 20u); }
TEST_P(PagedFaults, OfLendingBetweenPools) { EXPECT_GT(strike(lending(GetParam()), 2), 20u); }
TEST_P(PagedFaults, OfOrderingStreams) { EXPECT_GT(strike(ordering(GetParam()), 2), 20u); }

// The calls in which aliases go are the last ones of the program, by far more than a step makes otherwise.
// With `fast` it would have got more pages long before.
TEST(PagedFaultsOfAliases, OfTrimming) {
  const Program program = trimming(PlacementRule::tight);
  const FaultedRun whole = without_fault(program, 5000);
  ASSERT_GE(whole.unmaps, 1000u);
  std::mt19937_64 random(20261203);
  std::vector<DriverFault> chosen;
  for (int i = 0; i < (is_long() ? 100 : 1); ++i) {
    chosen.push_back({1 + random() % whole.calls, DriverCode::other, random() % 2 == 0});
    chosen.push_back({whole.calls - random() % 4000, DriverCode::other, random() % 2 == 0});
  }
  sweep(program, chosen, 5000);
}

std::uint64_t strike_generated(PlacementRule placement, std::uint64_t seeds, std::uint64_t share) {
  std::uint64_t runs = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const bool mapping : {true, false}) {
      const Start start{.placement = placement, .waits = StreamWaits::all, .page = kPage, .mapping = mapping};
      const Program program = generate(seed, 50, start, {.streams = kStreams, .tight_device = true, .pools = true});
      runs += sweep(program, faults(1, without_fault(program).calls, share));
      if (testing::Test::HasFailure()) return runs;
    }
  }
  return runs;
}

TEST_P(PagedFaults, OfGeneratedPrograms) { EXPECT_GT(strike_generated(GetParam(), 12, kShare * 4), 100u); }

// The whole sweep: QUARRY_LONG=1 quarry_tests --gtest_filter='*PagedFaultsLong.*'
TEST_P(PagedFaultsLong, EveryCall_long) {
  if (!is_long()) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  for (const Program& program : {stitching(GetParam()), lending(GetParam()), ordering(GetParam())}) strike(program, 1);
  RecordProperty("generated", std::to_string(strike_generated(GetParam(), 60, 1)));
}

const auto kPlacements = testing::Values(PlacementRule::tight, PlacementRule::fast);
const auto by_name = [](const auto& instance) { return instance.param == PlacementRule::tight ? "tight" : "fast"; };
INSTANTIATE_TEST_SUITE_P(Placements, PagedFaults, kPlacements, by_name);
INSTANTIATE_TEST_SUITE_P(Placements, PagedFaultsLong, kPlacements, by_name);

}  // namespace
}  // namespace quarry::paged
