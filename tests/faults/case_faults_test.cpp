// A fault at the driver calls of the recorded cases: each run ends in clean errors or success, leaks nothing, and the
// next request works.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "tests/faults/fault_run.h"
#include "tools/cases/run.h"

namespace quarry::tools {
namespace {

constexpr std::uint64_t kPlaces = 200;  // of a stress case
constexpr std::uint64_t kShare = 10;    // one fault in ten belongs to the normal run; of a stress case one in forty
constexpr std::uint64_t kStressShare = 40;

const std::string kFolder = QUARRY_TEST_DATA "/conformance/";

struct Sweep {
  std::uint64_t runs = 0;
  std::uint64_t cases = 0;
};

std::uint64_t calls_of(const Case& one) {
  FaultRun run(one, {0, DriverCode::other, false}, 1000);
  EXPECT_EQ(run.broken(), "") << one.file << ", " << one.name << ", without a fault";
  return run.calls();
}

bool is_stress(const std::string& file) { return file.starts_with("stress"); }

// Of a small case every call, with both codes, once and from there on; of a stress case kPlaces seeded choices.
std::vector<Fault> faults_of(const Case& one, bool stress, std::mt19937_64& random) {
  const std::uint64_t calls = calls_of(one);
  std::vector<Fault> faults;
  if (stress) {
    for (std::uint64_t i = 0; i < kPlaces; ++i) {
      const std::uint64_t kind = random();
      const DriverCode code = kind % 2 == 0 ? DriverCode::out_of_memory : DriverCode::other;
      faults.push_back({1 + random() % calls, code, kind / 2 % 2 == 0});
    }
    return faults;
  }
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    for (const DriverCode code : {DriverCode::out_of_memory, DriverCode::other}) {
      for (const bool repeat : {false, true}) faults.push_back({nth, code, repeat});
    }
  }
  return faults;
}

// A text that is refused has no run.
bool runs(const Case& one) {
  return missing_feature(one).empty() && parse_options(one.config, {}, Origin::environment);
}

// Stops at the first breach of a case. One fault in `share` is taken, seeded.
Sweep strike(const std::string& file, std::uint64_t share) {
  Sweep sweep;
  const auto cases = read_cases(kFolder + file + ".json.gz");
  if (!cases) {
    ADD_FAILURE() << cases.error().message;
    return sweep;
  }
  std::mt19937_64 random(20260801);
  for (const Case& one : *cases) {
    if (!runs(one)) continue;
    ++sweep.cases;
    const std::size_t check_every = 1 + one.steps.size() / 40;
    for (const Fault& fault : faults_of(one, is_stress(file), random)) {
      if (random() % share != 0) continue;
      ++sweep.runs;
      const std::string breach = FaultRun(one, fault, check_every).broken();
      if (breach.empty()) continue;
      ADD_FAILURE() << one.file << ", " << one.name << ", " << to_text(fault) << ": " << breach;
      break;
    }
  }
  return sweep;
}

// By name only: this runs at the start of every test.
std::vector<std::string> recorded_files() {
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, none)) {
    files.push_back(entry.path().stem().stem().string());
  }
  std::ranges::sort(files);
  return files;
}

class CaseFaults : public testing::TestWithParam<std::string> {};
class CaseFaultsLong : public CaseFaults {};

TEST_P(CaseFaults, LeakNothing) {
  const Sweep sweep = strike(GetParam(), is_stress(GetParam()) ? kStressShare : kShare);
  if (sweep.cases == 0) GTEST_SKIP() << "needs what is not built yet";
  EXPECT_GT(sweep.runs, 0u);
}

// The whole sweep: QUARRY_LONG=1 quarry_tests --gtest_filter='*CaseFaultsLong.*'
TEST_P(CaseFaultsLong, LeakNothing_long) {
  if (std::getenv("QUARRY_LONG") == nullptr) GTEST_SKIP() << "a long run; set QUARRY_LONG=1";
  const Sweep sweep = strike(GetParam(), 1);
  if (sweep.cases == 0) GTEST_SKIP() << "needs what is not built yet";
  EXPECT_GT(sweep.runs, 0u);
  std::cout << GetParam() << ": " << sweep.cases << " cases, " << sweep.runs << " faults\n";
}

const auto by_name = [](const auto& instance) { return instance.param; };
INSTANTIATE_TEST_SUITE_P(Recorded, CaseFaults, testing::ValuesIn(recorded_files()), by_name);
INSTANTIATE_TEST_SUITE_P(Recorded, CaseFaultsLong, testing::ValuesIn(recorded_files()), by_name);

}  // namespace
}  // namespace quarry::tools
