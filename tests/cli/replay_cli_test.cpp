#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_quarry.h"

namespace quarry::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text) : path_(testing::TempDir() + name) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  std::string quoted() const { return "'" + path_ + "'"; }
  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

const char* const kPassing = "cap 1GiB\nalloc a 512MiB\nexpect ok\n";
const char* const kFailing = "cap 1GiB\nalloc a 512MiB\nexpect oom\n";
const char* const kSkipped = "halloc a 5\n";

TEST(ReplayCommand, prints_a_row_per_file_and_the_sum) {
  const Ran ran = run_quarry("replay " + trace("mlp_adam") + " " + trace("resnet"));
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, HasSubstr("mlp_adam.pickle.gz"));
  EXPECT_THAT(ran.out, HasSubstr("2,375"));
  EXPECT_THAT(ran.out, HasSubstr("2,556 of 2,556 addresses match"));
  EXPECT_THAT(ran.out, HasSubstr("136.00 MiB"));
}

TEST(ReplayCommand, another_option_is_a_mismatch_that_is_explained) {
  const Ran ran = run_quarry("replay " + trace("varlen") + " --set roundup_power2_divisions:8");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out, HasSubstr("MISMATCH"));
  EXPECT_THAT(ran.out, HasSubstr("first mismatch: entry "));
  EXPECT_THAT(ran.out, HasSubstr("recorded at 0x"));
  EXPECT_THAT(ran.out, HasSubstr("we chose    0x"));
  EXPECT_THAT(ran.out, HasSubstr("because"));
}

TEST(ReplayCommand, the_tie_break_can_be_set_in_three_places) {
  const std::string file = trace("varlen_gc");  // matches by segment only
  EXPECT_EQ(run_quarry("replay " + file).exit, 0);
  EXPECT_EQ(run_quarry("replay " + file + " --tie-break address").exit, 1);
  EXPECT_EQ(run_quarry("replay " + file + " --set tie_break=address").exit, 1);
  EXPECT_EQ(run_quarry("replay " + file, "QUARRY_CONF=tie_break:address").exit, 1);
  // The command line wins over the environment.
  EXPECT_EQ(run_quarry("replay " + file + " --set tie_break=segment", "QUARRY_CONF=tie_break:address").exit, 0);
  EXPECT_EQ(run_quarry("replay " + file + " --tie-break auto", "QUARRY_CONF=tie_break:address").exit, 0);
}

TEST(ReplayCommand, wrong_usage_ends_in_2) {
  const std::string file = trace("mlp_adam");
  EXPECT_EQ(run_quarry("").exit, 2);
  EXPECT_EQ(run_quarry("nonsense").exit, 2);
  EXPECT_EQ(run_quarry("replay").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file + " --nonsense").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file + " --set nonsense=1").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file + " --set max_split_size_mb=2").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file + " --tie-break coin").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file + " --units furlong").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file + " --trace-device 1").exit, 2);
  EXPECT_EQ(run_quarry("replay " + file, "QUARRY_CONF=nonsense:1").exit, 2);
  const Ran policy = run_quarry_errors("replay " + file + " --policy best");
  EXPECT_EQ(policy.exit, 2);
  EXPECT_THAT(policy.out, HasSubstr("pytorch"));
}

// In the policy paged an oom may become ok, and a figure is an upper bound.
TEST(ReplayCommand, runs_a_script_in_the_policy_asked_for) {
  const TextFile bounds("bounds.ops", "alloc a 3MiB\nexpect reserved=20MiB\n");
  const TextFile lower("lower.ops", "alloc a 3MiB\nexpect reserved=3MiB\n");
  EXPECT_EQ(run_quarry("replay " + bounds.quoted()).exit, 0);
  for (const std::string policy : {"paged", "paged+tight", "paged+fast"}) {
    EXPECT_EQ(run_quarry("replay --policy " + policy + " " + bounds.quoted()).exit, 0) << policy;
    EXPECT_EQ(run_quarry("replay --policy " + policy + " " + lower.quoted()).exit, 1) << policy;
  }
  EXPECT_EQ(run_quarry("replay --policy nonsense " + bounds.quoted()).exit, 2);
}

TEST(ReplayCommand, what_cannot_be_read_ends_in_3_with_one_line) {
  const TextFile junk("junk.bin", "\x80\x04garbage");
  for (const std::string& file : {std::string("/nowhere/at/all"), std::string("/"), junk.quoted()}) {
    const Ran ran = run_quarry_errors("replay " + file);
    EXPECT_EQ(ran.exit, 3) << file;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST(ReplayCommand, a_format_that_is_not_read_yet_is_named) {
  const TextFile rmm("rmm.csv", "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,allocate,0x10,256,0\n");
  const Ran ran = run_quarry_errors("replay " + rmm.quoted());
  EXPECT_EQ(ran.exit, 3);
  EXPECT_THAT(ran.out, HasSubstr("RMM"));
  EXPECT_THAT(ran.out, HasSubstr("does not read yet"));
}

TEST(ReplayCommand, skipped_ends_in_4_with_the_reason) {
  const TextFile skipped("skipped.ops", kSkipped);
  const Ran ran = run_quarry("replay " + skipped.quoted());
  EXPECT_EQ(ran.exit, 4);
  EXPECT_THAT(ran.out, HasSubstr("needs the pinned host allocator"));
}

TEST(ReplayCommand, several_files_end_in_the_worst_code) {
  const std::string good = trace("mlp_adam");
  const TextFile skipped("skipped.ops", kSkipped);
  const TextFile failing("failing.ops", kFailing);
  const std::string two = "replay " + good + " " + skipped.quoted();
  EXPECT_EQ(run_quarry(two).exit, 4);
  EXPECT_EQ(run_quarry(two + " " + failing.quoted()).exit, 1);
  EXPECT_EQ(run_quarry(two + " " + failing.quoted() + " /nowhere").exit, 3);
}

TEST(ReplayCommand, case_files_are_run_step_by_step) {
  const TextFile passing("passing.ops", kPassing);
  const TextFile failing("failing.ops", kFailing);
  const TextFile skipped("skipped.ops", kSkipped);
  EXPECT_EQ(run_quarry("replay " + passing.quoted()).exit, 0);
  EXPECT_EQ(run_quarry("replay " + skipped.quoted()).exit, 4);
  const Ran ran = run_quarry("replay " + failing.quoted());
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out, HasSubstr("failing"));
  EXPECT_THAT(ran.out, HasSubstr("step "));
  EXPECT_THAT(ran.out, HasSubstr("expected "));
  EXPECT_THAT(ran.out, HasSubstr("got "));
}

TEST(ReplayCommand, known_differences_are_listed_and_accepted) {
  const std::string data = "'" QUARRY_TEST_DATA;
  const std::string file = data + "/conformance/config.json.gz'";
  EXPECT_EQ(run_quarry("replay " + file).exit, 1);
  const Ran ran = run_quarry("replay " + file + " --known " + data + "/known_differences.txt'");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, HasSubstr("2 with known differences"));
  EXPECT_EQ(run_quarry("replay " + file + " --known /nowhere").exit, 3);
}

// More output than a pipe holds, so the program does meet the closed end.
TEST(ReplayCommand, a_reader_that_stops_early_hears_no_complaint) {
  const TextFile errors("errors.txt", "");
  std::string many;
  for (int i = 0; i < 100; ++i) many += " " + trace("mlp_adam");
  EXPECT_GT(run_quarry("replay --json" + many).out.size(), 65536u);
  EXPECT_EQ(run_quarry("replay --json" + many + " | head -c 1", "", "2>" + errors.quoted()).out, "{");
  EXPECT_EQ(errors.content(), "");
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST(ReplayJson, of_a_trace_is_the_object_of_the_design) {
  const std::string given = std::string(QUARRY_TEST_DATA) + "/traces/mlp_adam.pickle.gz";
  const Ran ran = run_quarry("replay --json " + trace("mlp_adam"));
  EXPECT_EQ(ran.exit, 0);
  const json whole = json::parse(ran.out);
  EXPECT_THAT(keys_of(whole), testing::UnorderedElementsAre("schema", "files"));
  EXPECT_EQ(whole["schema"], 1);
  const json& file = whole["files"].at(0);
  EXPECT_THAT(keys_of(file), testing::UnorderedElementsAre("file", "kind", "exit", "tie_break", "rewind_misses",
                                                           "skipped_actions", "skipped_keys", "runs"));
  EXPECT_EQ(file["file"], given);
  EXPECT_EQ(file["exit"], 0);
  EXPECT_EQ(file["tie_break"], "segment");
  const json& run = file["runs"].at(0);
  EXPECT_THAT(keys_of(run),
              testing::UnorderedElementsAre("device", "policy", "settings", "allocations", "frees", "ooms",
                                            "peak_requested", "peak_allocated", "peak_reserved", "fragmentation",
                                            "driver_calls", "driver_us", "ns_per_op", "addresses"));
  EXPECT_EQ(run["device"], 0);
  EXPECT_EQ(run["policy"], "pytorch");
  EXPECT_EQ(run["allocations"], 181);
  EXPECT_EQ(run["frees"], 156);
  EXPECT_EQ(run["peak_requested"], 115757232);
  EXPECT_EQ(run["peak_allocated"], 115761152);
  EXPECT_EQ(run["peak_reserved"], 142606336);
  EXPECT_NEAR(run["fragmentation"].get<double>(), 1.23194, 1e-5);
  EXPECT_EQ(run["driver_calls"]["allocate_segment"], 8);
  EXPECT_EQ(run["addresses"],
            (json{{"checked", 181}, {"matched", 181}, {"guessed_pools", 0}, {"first_mismatch", nullptr}}));
}

TEST(ReplayJson, has_the_first_mismatch_with_both_blocks) {
  const Ran ran = run_quarry("replay --json " + trace("varlen_gc") + " --tie-break address");
  EXPECT_EQ(ran.exit, 1);
  const json file = json::parse(ran.out)["files"].at(0);
  EXPECT_EQ(file["exit"], 1);
  EXPECT_EQ(file["tie_break"], "address");
  const json first = file["runs"].at(0)["addresses"]["first_mismatch"];
  EXPECT_TRUE(first["recorded"].is_number_unsigned());
  EXPECT_NE(first["recorded"], first["chosen"]);
  EXPECT_EQ(first["recorded_block"]["block_size"], first["chosen_block"]["block_size"]);  // a tie
  EXPECT_THAT(first["text"].get<std::string>(), HasSubstr("tie-break"));
}

// Begins with mapped pages of a reservation that no entry tells of.
const char* const kMidRun = R"({"segments": [{"device": 0, "address": 140187732541440, "total_size": 2097152,
  "stream": 0, "segment_type": "small", "segment_pool_id": [0, 0], "is_expandable": true, "blocks": [
    {"address": 140187732541440, "size": 512, "requested_size": 512, "state": "active_allocated"},
    {"address": 140187732541952, "size": 2096640, "requested_size": 0, "state": "inactive"}]}],
  "device_traces": [[{"action": "alloc", "addr": 140187732541440, "size": 512, "stream": 0}]]})";

TEST(ReplayJson, of_files_that_were_not_run_says_so) {
  const TextFile skipped("mid_run.json", kMidRun);
  const Ran ran = run_quarry("replay --json " + skipped.quoted() + " /nowhere");
  EXPECT_EQ(ran.exit, 3);
  const json files = json::parse(ran.out)["files"];
  EXPECT_EQ(files.at(0)["exit"], 4);
  EXPECT_EQ(files.at(0)["runs"], json::array());
  EXPECT_EQ(files.at(0)["tie_break"], nullptr);
  EXPECT_EQ(files.at(1)["exit"], 3);
  EXPECT_EQ(files.at(1)["kind"], nullptr);
}

TEST(ReplayJson, of_cases_names_step_key_and_both_values) {
  const TextFile failing("failing.ops", kFailing);
  const TextFile passing("passing.ops", kPassing);
  const TextFile skipped("skipped.ops", kSkipped);
  const Ran ran = run_quarry("replay --json " + failing.quoted() + " " + passing.quoted() + " " + skipped.quoted());
  EXPECT_EQ(ran.exit, 1);
  const json files = json::parse(ran.out)["files"];
  const json& fail = files.at(0)["cases"].at(0);
  EXPECT_THAT(keys_of(fail),
              testing::UnorderedElementsAre("name", "result", "step", "key", "expected", "got", "reason"));
  EXPECT_EQ(fail["result"], "fail");
  EXPECT_TRUE(fail["step"].is_number());
  EXPECT_TRUE(fail["expected"].is_string());
  EXPECT_TRUE(fail["got"].is_string());
  EXPECT_EQ(files.at(1)["cases"].at(0)["result"], "pass");
  EXPECT_EQ(files.at(2)["cases"].at(0)["result"], "skip");
  EXPECT_TRUE(files.at(2)["cases"].at(0)["reason"].is_string());
}

}  // namespace
}  // namespace quarry::tools
