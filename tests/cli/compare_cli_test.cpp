// `quarry replay --policy ...`: policies ranked, for people, programs and documents.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_quarry.h"
#include "support/temp_file.h"

namespace quarry::tools {
namespace {

using nlohmann::json;
using test::TempFile;
using testing::HasSubstr;

constexpr const char* kToy = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

std::string quoted(const TempFile& file) { return "'" + file.path() + "'"; }

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) list.push_back(line);
  return list;
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

json first_file(const std::string& arguments) {
  const Ran ran = run_quarry("replay --json " + arguments);
  EXPECT_EQ(ran.exit, 0);
  return json::parse(ran.out)["files"].at(0);
}

TEST(CompareCommand, ranks_all_policies) {
  const Ran ran = run_quarry("replay --policy all " + trace("mlp_adam"));
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, HasSubstr("mlp_adam.pickle.gz: 181 allocations on 1 stream, peak requested 110.39 MiB"));
  EXPECT_THAT(ran.out, HasSubstr("F = peak reserved / peak requested"));
  const std::vector<std::string> all = lines(ran.out);
  EXPECT_TRUE(all.at(3).starts_with("bound ")) << all.at(3);
  for (const std::string key : {"pytorch+expandable", "exact-size", "bins", "paged+fast", "packed"}) {
    const auto is_row = [&](const std::string& line) { return line.starts_with(key + " "); };
    EXPECT_EQ(std::count_if(all.begin(), all.end(), is_row), 1) << key;
  }
}

TEST(CompareCommand, pytorch_alone_stays_verify_mode) {
  EXPECT_THAT(run_quarry("replay --policy pytorch " + trace("mlp_adam")).out, HasSubstr("181 of 181 addresses match"));
  EXPECT_THAT(run_quarry("replay --policy pytorch --repeat 2 " + trace("mlp_adam")).out, HasSubstr("2 iterations"));
}

TEST(CompareCommand, json_has_a_run_per_policy_with_its_iterations) {
  const json file = first_file("--policy exact-size,pytorch+expandable,bound --repeat 3 " + trace("mlp_adam"));
  EXPECT_EQ(file["tie_break"], nullptr);
  const json& runs = file["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0]["policy"], "bound");
  EXPECT_EQ(runs[1]["policy"], "pytorch+expandable");
  EXPECT_EQ(runs[2]["policy"], "exact-size");
  for (const json& run : runs) {
    EXPECT_THAT(keys_of(run),
                testing::UnorderedElementsAre("device", "policy", "settings", "allocations", "frees", "ooms",
                                              "peak_requested", "peak_requested_active", "peak_allocated",
                                              "peak_reserved", "fragmentation", "fragmentation_active", "driver_calls",
                                              "driver_us", "ns_per_op", "addresses", "iterations"));
    EXPECT_EQ(run["peak_requested"], 115757232);
    EXPECT_EQ(run["addresses"], nullptr);
  }
  EXPECT_EQ(runs[0]["peak_reserved"], 115757232);
  EXPECT_EQ(runs[0]["driver_us"], nullptr);
  EXPECT_EQ(runs[0]["ns_per_op"], nullptr);
  EXPECT_EQ(runs[0]["iterations"], json::array());
  EXPECT_EQ(runs[1]["settings"]["expandable_segments"], "True");
  EXPECT_EQ(runs[1]["allocations"], 3 * 181);
  const json& iterations = runs[2]["iterations"];
  ASSERT_EQ(iterations.size(), 3u);
  EXPECT_THAT(keys_of(iterations[0]),
              testing::UnorderedElementsAre("driver_calls", "driver_us", "ns_per_op", "peak_reserved"));
  EXPECT_EQ(iterations[0]["driver_calls"], runs[2]["driver_calls"]);
  EXPECT_GT(iterations[0]["driver_calls"]["allocate_segment"], 0);
  EXPECT_EQ(iterations[2]["driver_calls"], json::object());
}

TEST(CompareCommand, options_are_set_over_the_recorded_ones) {
  const json file = first_file("--policy pytorch,bound --set large_segment_size_mb=40 " + trace("varlen_max_split"));
  EXPECT_EQ(file["runs"][1]["settings"]["max_split_size_mb"], "128");  // of the recording
  EXPECT_EQ(file["runs"][1]["settings"]["large_segment_size_mb"], "40");
}

TEST(CompareCommand, a_packing_problem_is_always_ranked) {
  const TempFile toy(kToy);
  const Ran ran = run_quarry("replay " + quoted(toy));
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, HasSubstr("5 allocations on 1 stream, peak requested 24.00 KiB"));
  EXPECT_THAT(ran.out, HasSubstr("every size is multiplied by 2048"));
  EXPECT_THAT(ran.out, HasSubstr("pytorch+roundup"));
  const json file = first_file("--policy packed --scale 1048576 " + quoted(toy));
  EXPECT_EQ(file["kind"], "packing problem");
  EXPECT_EQ(file["scale"], 1048576);
  EXPECT_EQ(file["runs"][0]["peak_reserved"], 12 << 20);
  EXPECT_EQ(file["runs"][0]["fragmentation"], 1.0);
}

TEST(CompareCommand, sizes_that_are_bytes_are_left_alone) {
  const TempFile bytes("id,lower,upper,size\n0,0,3,3000000\n");
  const json file = first_file("--policy bound " + quoted(bytes));
  EXPECT_FALSE(file.contains("scale"));
  EXPECT_EQ(file["runs"][0]["peak_reserved"], 3000000);
}

TEST(CompareCommand, markdown_is_one_table) {
  const TempFile toy(kToy, "toy.csv");
  const Ran ran = run_quarry("replay --markdown --policy bound,packed,pytorch " + trace("mlp_adam") +
                             " --scale 1048576 " + quoted(toy));
  EXPECT_EQ(ran.exit, 0);
  const std::vector<std::string> all = lines(ran.out);
  ASSERT_EQ(all.size(), 4u) << ran.out;
  EXPECT_EQ(all[0], "| trace | bound, MiB | packed | pytorch |");
  EXPECT_EQ(all[1], "|---|---:|---:|---:|");
  EXPECT_EQ(all[2], "| mlp_adam.pickle.gz | 110.4 | 1.0145 | 1.2319 |");
  EXPECT_THAT(all[3], HasSubstr("toy.csv x 1048576 | 12.0 | 1.0000 | 1.6667 |"));
}

TEST(CompareCommand, wrong_usage_ends_in_2) {
  const std::string file = trace("mlp_adam");
  for (const std::string wrong : {"--policy all,best", "--policy ,", "--policy all --verify", "--repeat 2 --verify",
                                  "--markdown --verify", "--repeat 0", "--repeat x", "--scale 0", "--scale 1.5",
                                  "--scale -1", "--markdown --json", "--policy all --set nonsense=1"}) {
    const Ran ran = run_quarry_errors("replay " + file + " " + wrong);
    EXPECT_EQ(ran.exit, 2) << wrong;
    EXPECT_FALSE(ran.out.empty()) << wrong;
  }
}

TEST(CompareCommand, files_that_cannot_be_compared_say_why) {
  const TempFile script("cap 1GiB\nalloc a 512MiB\nexpect ok\n");
  const Ran cases = run_quarry_errors("replay --policy all " + quoted(script));
  EXPECT_EQ(cases.exit, 2);
  EXPECT_THAT(cases.out, HasSubstr("cases are run step by step"));
  const TempFile broken("id,lower,upper,size\n0,0,3,x\n");
  const Ran refused = run_quarry_errors("replay " + quoted(broken));
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.out, HasSubstr("at byte 26: row 1 of a packing problem: size is not a whole number below 2^63"));
  const TempFile huge("id,lower,upper,size\n0,0,3,9000000000000000\n");
  const Ran skipped = run_quarry("replay " + quoted(huge));
  EXPECT_EQ(skipped.exit, 4);
  EXPECT_THAT(skipped.out, HasSubstr("more than the 8 TiB"));
}

}  // namespace
}  // namespace quarry::tools
