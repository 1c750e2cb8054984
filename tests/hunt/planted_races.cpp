// Proof of the hunt: each known race, switched on in the real code, is found as a hazard, and without it the same
// schedules are clean.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "support/hunt_program.h"
#include "support/hunt_run.h"

#include <quarry/allocator/planted_race.h>

namespace quarry::hunt {
namespace {

constexpr std::uint64_t kSeeds = 10'000;
constexpr std::size_t kSteps = 60;

// Only a hazard counts: what else the race breaks would prove nothing about the checker.
bool is_hazard(const std::optional<Breach>& breach) { return breach && breach->what.starts_with("hazard: "); }

class PlantedRaces : public testing::Test {
 protected:
  ~PlantedRaces() override { planted_race = PlantedRace::none; }

  // The first schedule that shows the race, made small.
  std::string hunt(PlantedRace race) {
    planted_race = race;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Program program = generate(seed, kSteps);
      if (!is_hazard(run(program))) continue;
      RecordProperty("seed", std::to_string(seed));
      return explain(program);
    }
    return "nothing";
  }
};

TEST_F(PlantedRaces, NoneIsSwitchedOnByItself) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::optional<Breach> breach = run(generate(seed, kSteps));
    ASSERT_FALSE(breach) << breach->what;
  }
}

// What is found is a hazard, and the script that shows it has no more than a person can read.
void expect_short(const std::string& found) {
  EXPECT_TRUE(found.starts_with("hazard: ")) << found;
  EXPECT_LE(std::count(found.begin(), found.end(), '\n'), 15) << found;
}

// Streams that blocks are requested on; one that was created anew is another.
std::size_t streams_of_requests(const std::string& script) {
  std::set<std::pair<std::string, int>> streams;
  std::map<std::string, int> created_anew;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, name, size, stream;
    words >> word >> name >> size >> stream;
    if (word == "alloc") streams.emplace(stream, created_anew[stream]);
    if (word == "retire" || word == "drop") ++created_anew[name];
  }
  return streams.size();
}

TEST_F(PlantedRaces, ABlockVisibleBeforeItsEventIsRecorded) { expect_short(hunt(PlantedRace::early_free)); }
TEST_F(PlantedRaces, ListsMergedByOneEventAndStolenByAThirdStream) {
  const std::string found = hunt(PlantedRace::merged_lists);
  expect_short(found);
  EXPECT_GE(streams_of_requests(found), 3u) << found;
}
TEST_F(PlantedRaces, AHandleTakenForTheOldStream) { expect_short(hunt(PlantedRace::stale_handle)); }
TEST_F(PlantedRaces, PagesUnmappedUnderTheirOwnStream) { expect_short(hunt(PlantedRace::early_unmap)); }

}  // namespace
}  // namespace quarry::hunt
