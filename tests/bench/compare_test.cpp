// bench/compare.sh from another folder, once, with short lists: all rows are there and all subjects did the same work.
// Times are not judged.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/temp_file.h"

namespace quarry::bench {
namespace {

using nlohmann::json;

constexpr bool kHasCub = QUARRY_BENCH_HAS_CUB;

int run(const std::string& arguments) {
  return std::system(
      fmt::format("cd / && QUARRY_BENCH_COMPARE='{}' '{}' {}", QUARRY_BENCH_COMPARE, QUARRY_COMPARE_SCRIPT, arguments)
          .c_str());
}

std::set<std::string> cases() {
  std::set<std::string> names = {"hot pair 512 B",
                                 "hot pair 1 MiB",
                                 "hot pair 32 MiB",
                                 "last in first out 100 x 512 B",
                                 "last in first out 100 x 1 MiB",
                                 "trace kv_cache",
                                 "trace gpt2_bf16",
                                 "trace varlen"};
  for (const int count : {1'000, 10'000, 100'000}) {
    for (const int mib : {1, 4, 64, 1024}) names.insert(fmt::format("random {} x {} MiB", count, mib));
  }
  return names;
}

std::set<std::string> peers() {
  std::set<std::string> names = {"std::map best fit", "pytorch"};
  if (kHasCub) names.insert({"cub", "cub, instant events"});
  return names;
}

json quick_report() {
  const std::string file = test::temp_path("compare.json");
  EXPECT_EQ(run(fmt::format("--quick --pytorch --json '{}'", file)), 0);
  std::ifstream in(file);
  json report = json::parse(in);
  std::remove(file.c_str());
  return report;
}

// Each pair of a case and a peer has one row.
void expect_all_rows(const json& report) {
  std::set<std::pair<std::string, std::string>> wanted;
  for (const std::string& one : cases()) {
    for (const std::string& peer : peers()) wanted.emplace(one, peer);
  }
  std::set<std::pair<std::string, std::string>> found;
  for (const json& row : report.at("rows")) {
    EXPECT_TRUE(found.emplace(row.at("case"), row.at("peer")).second) << row;
    EXPECT_GT(row.at("quarry_ns"), 0);
    EXPECT_GT(row.at("tight_ns"), 0);
    EXPECT_NEAR(row.at("ratio"), row.at("peer_ns").get<double>() / row.at("quarry_ns").get<double>(), 1e-9);
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(report.at("left_out").empty(), kHasCub);
}

void expect_the_same_work(const json& report) {
  std::map<std::string, std::set<std::uint64_t>> operations;
  for (const json& figure : report.at("figures")) {
    operations[figure.at("case")].insert(figure.at("operations").get<std::uint64_t>());
    EXPECT_EQ(figure.at("live"), 0) << figure;
    EXPECT_LE(figure.at("min_ns"), figure.at("median_ns"));
    EXPECT_LE(figure.at("median_ns"), figure.at("max_ns"));
  }
  for (const auto& [name, counts] : operations) {
    EXPECT_EQ(counts.size(), 1u) << name;
    EXPECT_GT(*counts.begin(), 0u) << name;
  }
  EXPECT_EQ(operations.size(), cases().size());
  EXPECT_EQ(report.at("figures").size(), cases().size() * (peers().size() + 2));
}

// Once for each operation CUB asks for the device, and for each free it records an event.
void expect_calls_of_cub(const json& report) {
  std::size_t seen = 0;
  for (const json& figure : report.at("figures")) {
    if (!figure.at("subject").get<std::string>().starts_with("cub")) continue;
    ++seen;
    const json& calls = figure.at("driver_calls");
    EXPECT_GT(calls.at("cudaMalloc"), 0) << figure;
    EXPECT_EQ(calls.at("cudaEventCreateWithFlags"), calls.at("cudaMalloc"));
    EXPECT_EQ(calls.at("cudaGetDevice"), figure.at("operations"));
    EXPECT_EQ(calls.at("cudaEventRecord").get<std::uint64_t>() * 2, figure.at("operations").get<std::uint64_t>());
  }
  EXPECT_EQ(seen, kHasCub ? cases().size() * 2 : 0);
}

TEST(Compare, EveryCaseHasRowsAndAllSubjectsDidTheSame) {
  const json report = quick_report();
  expect_all_rows(report);
  expect_the_same_work(report);
  expect_calls_of_cub(report);
}

TEST(Compare, CountsOneCaseForCallgrind) {
  EXPECT_EQ(run("--quick --count 'random 1000 x 1 MiB' --subject fast | grep -qx 'operations 500'"), 0);
}

TEST(Compare, SaysWhatItCannotDo) {
  EXPECT_NE(run("--count nothing 2>/dev/null"), 0);
  EXPECT_NE(run("--quick --cases 'hot pair' --json /nowhere/at/all >/dev/null 2>&1"), 0);
}

}  // namespace
}  // namespace quarry::bench
