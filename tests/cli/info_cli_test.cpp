#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <quarry/allocator/options.h>
#include <nlohmann/json.hpp>

#include "cli/run_quarry.h"

namespace quarry::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json option(const json& info, const std::string& key) {
  for (const json& row : info["options"]) {
    if (row["key"] == key) return row;
  }
  return "no such option";
}

TEST(InfoCommand, says_which_device_it_took) {
  const Ran sim = run_quarry("info");
  EXPECT_EQ(sim.exit, 0);
  EXPECT_THAT(sim.out, HasSubstr("sim"));
  const Ran host = run_quarry("info --device host");
  EXPECT_EQ(host.exit, 0);
  EXPECT_THAT(host.out, HasSubstr("host"));
  const Ran pinned = run_quarry("info --device pinned");
  EXPECT_EQ(pinned.exit, 0);
  EXPECT_THAT(pinned.out, HasSubstr("pinned memory"));
}

// On a machine with a GPU it is taken; on others the answer is an error, never the simulation.
TEST(InfoCommand, never_takes_the_simulation_for_a_gpu) {
  for (const char* device : {"cuda", "cuda:999"}) {
    const Ran ran = run_quarry_errors(std::string("info --device ") + device);
    if (ran.exit == 0) continue;
    EXPECT_EQ(ran.exit, 2);
    EXPECT_THAT(ran.out, HasSubstr(std::string("--device ") + device + ": "));
  }
  EXPECT_EQ(run_quarry("info --device gpu").exit, 2);
  EXPECT_EQ(run_quarry("info --device cuda:12345").exit, 2);
}

TEST(InfoCommand, shows_every_option) {
  const Ran ran = run_quarry("info");
  for (const OptionInfo& row : option_table()) EXPECT_THAT(ran.out, HasSubstr(std::string(row.key)));
}

TEST(InfoCommand, shows_where_a_value_came_from) {
  const std::string conf = "QUARRY_CONF=max_split_size_mb:128,large_segment_size_mb:40";
  const Ran ran = run_quarry("info --json --set large_segment_size_mb=60", conf);
  EXPECT_EQ(ran.exit, 0);
  const json info = json::parse(ran.out);
  EXPECT_EQ(info["schema"], 1);
  EXPECT_EQ(option(info, "max_split_size_mb")["value"], "128");
  EXPECT_EQ(option(info, "max_split_size_mb")["origin"], "QUARRY_CONF");
  EXPECT_EQ(option(info, "large_segment_size_mb")["value"], "60");
  EXPECT_EQ(option(info, "large_segment_size_mb")["origin"], "command line");
  EXPECT_EQ(option(info, "tie_break")["origin"], "default");
  EXPECT_EQ(option(info, "expandable_segments")["supported"], true);
  EXPECT_EQ(option(info, "pinned_free_catch_all")["supported"], false);
}

TEST(InfoCommand, a_bad_option_ends_in_2) {
  EXPECT_EQ(run_quarry("info --set nonsense=1").exit, 2);
  EXPECT_EQ(run_quarry("info", "QUARRY_CONF=nonsense").exit, 2);
}

TEST(Command, has_version_and_help_on_every_level) {
  const Ran version = run_quarry("--version");
  EXPECT_EQ(version.exit, 0);
  EXPECT_THAT(version.out, testing::StartsWith("quarry "));
  for (const char* arguments : {"--help", "info --help", "replay --help", "demo --help"}) {
    const Ran help = run_quarry(arguments);
    EXPECT_EQ(help.exit, 0) << arguments;
    EXPECT_THAT(help.out, HasSubstr("Examples:")) << arguments;
  }
  for (const char* name : {"info", "replay", "demo"}) EXPECT_THAT(run_quarry("--help").out, HasSubstr(name));
}

}  // namespace
}  // namespace quarry::tools
