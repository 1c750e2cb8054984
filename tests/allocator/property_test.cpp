// Generated programs, judged step by step by the oracle and by the identities. A failure prints the seed and the shrunk
// program as a script.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <variant>

#include "support/generator.h"
#include "support/oracle.h"
#include "support/oracle_run.h"

namespace quarry::oracle {
namespace {

// Runs one generated program; false after a failure.
bool agrees(std::uint64_t seed, std::size_t operations) {
  const Program program = Generator(seed).program(operations);
  const std::optional<Difference> found = run(program);
  if (found) ADD_FAILURE() << "seed " << seed << ", " << explain(program, *found);
  return !found;
}

TEST(Property, AgreesWithTheOracleStepByStep) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    if (!agrees(seed, 500)) return;
  }
}

TEST(Property, ShortProgramsReachManySetups) {
  for (std::uint64_t seed = 1000; seed < 1100; ++seed) {
    if (!agrees(seed, 10)) return;
  }
}

// 10^6 operations: QUARRY_LONG=1 quarry_tests --gtest_filter='PropertyLong.*'
TEST(PropertyLong, AMillionOperations_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  constexpr std::uint64_t kPrograms = 1000;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    if (!agrees(seed * 104729, 1'000'000 / kPrograms)) return;
  }
}

// The programs are worth running: every answer, every rung of the ladder and every kind of reuse is in them.
TEST(Property, TheProgramsReachEveryAnswer) {
  std::map<Kind, int> answers;
  int hits = 0, oversize_rung = 0, last_rung = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Program program = Generator(seed).program(200);
    Oracle oracle(program.start);
    for (const Operation& operation : program.operations) {
      const std::uint64_t retries = oracle.tally("num_alloc_retries");
      const Outcome outcome = oracle.apply(operation);
      ++answers[outcome.kind];
      if (outcome.kind != Kind::placed) continue;
      if (outcome.calls.empty()) ++hits;
      if (outcome.calls.size() > 1) ++(oracle.tally("num_alloc_retries") > retries ? last_rung : oversize_rung);
    }
  }
  for (const Kind kind :
       {Kind::done, Kind::placed, Kind::null, Kind::skipped, Kind::out_of_memory, Kind::driver_error}) {
    EXPECT_GE(answers[kind], 20) << to_text(Outcome{.kind = kind});
  }
  EXPECT_GE(hits, 1000);
  EXPECT_GE(oversize_rung, 20);
  EXPECT_GE(last_rung, 100);
}

// The judge must be able to find a fault: an oracle that believes in another beginning has to disagree.
std::optional<Difference> disagreement(void (*change)(Start&)) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Program program = Generator(seed).program(200);
    Start believed = program.start;
    change(believed);
    if (std::optional<Difference> found = run(program, believed, 16)) return found;
  }
  return std::nullopt;
}

TEST(Property, AWrongRuleIsFound) {
  EXPECT_TRUE(disagreement([](Start& s) {
    s.tie_break = s.tie_break == TieBreak::address ? TieBreak::segment : TieBreak::address;
  })) << "tie break";
  EXPECT_TRUE(disagreement([](Start& s) { s.settings.max_split_mib = 56; })) << "split limit";
  EXPECT_TRUE(disagreement([](Start& s) { s.settings.max_non_split_rounding_mib = 41; })) << "rounding of whole blocks";
  EXPECT_TRUE(disagreement([](Start& s) { s.settings.roundup = Roundup{.all = 16}; })) << "roundup";
  EXPECT_TRUE(disagreement([](Start& s) { s.memory_limit = 30ull << 20; })) << "limit";
  EXPECT_TRUE(disagreement([](Start& s) { s.capacity = 100ull << 20; })) << "capacity";
}

TEST(Property, ShrinkingKeepsOnlyWhatFails) {
  Program program = Generator(5).program(300);
  program.operations[170].emplace<SetFraction>(0.125);
  const auto first_fraction = [](const Program& candidate) -> std::size_t {
    for (std::size_t i = 0; i < candidate.operations.size(); ++i) {
      const auto* op = std::get_if<SetFraction>(&candidate.operations[i]);
      if (op != nullptr && op->fraction == 0.125) return i + 1;
    }
    return 0;
  };
  const Program small = shrink(program, first_fraction);
  ASSERT_EQ(small.operations.size(), 1u);
  EXPECT_EQ(to_text(small.operations.front()), "set_fraction 0.125");
}

}  // namespace
}  // namespace quarry::oracle
