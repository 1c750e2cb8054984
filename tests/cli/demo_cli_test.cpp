// `quarry demo`, as a user runs it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <quarry/stats/summary.h>
#include <quarry/tensor/dtype.h>
#include <nlohmann/json.hpp>

#include "cli/run_quarry.h"

namespace quarry::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The JSON of one demonstration on the simulated device.
json demo(const std::string& name, const std::string& device = "sim") {
  const Ran ran = run_quarry("demo " + name + " --json --device " + device);
  EXPECT_EQ(ran.exit, 0);
  const json all = json::parse(ran.out);
  EXPECT_EQ(all["schema"], 1);
  EXPECT_EQ(all["device"]["backend"], device);
  EXPECT_EQ(all["demos"].size(), 1u);
  return all["demos"][name];
}

std::string text(const std::string& name) {
  const Ran ran = run_quarry("demo " + name + " --device sim");
  EXPECT_EQ(ran.exit, 0);
  return ran.out;
}

std::string bytes(const json& value) { return stats::format_bytes({value.get<std::uint64_t>()}, stats::Units::bytes); }

void expect_ledger_adds_up(const json& ledger) {
  const auto at = [&](const char* key) { return ledger[key].get<std::uint64_t>(); };
  EXPECT_EQ(at("requested") + at("rounding"), at("allocated"));
  EXPECT_EQ(at("allocated") + at("pending"), at("active"));
  EXPECT_EQ(at("active") + at("releasable") + at("stranded"), at("reserved"));
  EXPECT_GE(at("peak_requested"), at("requested"));
  EXPECT_GE(at("peak_reserved"), at("reserved"));
}

std::uint64_t product(const json& sizes) {
  std::uint64_t elements = 1;
  for (const json& size : sizes) elements *= size.get<std::uint64_t>();
  return elements;
}

TEST(DemoCommand, basic_shows_the_sizes_of_a_tensor) {
  const json tensors = demo("basic")["tensors"];
  const std::string shown = text("basic");
  ASSERT_EQ(tensors.size(), 4u);
  std::vector<std::uint64_t> logical;
  for (const json& tensor : tensors) {
    const json& sizes = tensor["bytes"];
    EXPECT_EQ(sizes["logical"], product(tensor["sizes"]) * 4);
    EXPECT_EQ(sizes["storage"], sizes["logical"]);
    EXPECT_EQ(sizes["handle"], tensors[0]["bytes"]["handle"]);
    EXPECT_EQ(tensor["paged"]["block"].get<std::uint64_t>() % 512, 0u);
    for (const char* policy : {"paged", "pytorch"}) {
      EXPECT_GE(tensor[policy]["block"], sizes["storage"]);
      EXPECT_GE(tensor[policy]["reserved"], tensor[policy]["block"]);
      EXPECT_EQ(tensor[policy]["reserved"].get<std::uint64_t>() % (2 << 20), 0u);
    }
    EXPECT_THAT(shown, HasSubstr(bytes(sizes["logical"])));
    EXPECT_THAT(shown, HasSubstr(bytes(tensor["pytorch"]["reserved"])));
    logical.push_back(sizes["logical"]);
  }
  EXPECT_EQ(logical, (std::vector<std::uint64_t>{24, 400, 4'000'000, 400'000'000}));
  EXPECT_EQ(tensors[0]["pytorch"]["reserved"], 2 << 20);
  EXPECT_EQ(tensors[2]["pytorch"]["reserved"], 20 << 20);
}

// What README shows is what the program prints.
TEST(DemoCommand, basic_is_what_the_readme_shows) {
  std::ifstream file(QUARRY_TEST_DATA "/../../README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const std::string shown = text("basic");
  const std::size_t table = shown.find("tensor  ");
  ASSERT_NE(table, std::string::npos);
  EXPECT_THAT(readme, HasSubstr("```\n" + shown.substr(table) + "```\n"));
}

TEST(DemoCommand, sharing_judges_by_the_storage) {
  const json shared = demo("sharing");
  std::int64_t users = 0;
  for (const json& view : shared["views"]) {
    const bool copy = view["name"] == "clone()";
    EXPECT_EQ(view["same_storage"], !copy) << view;
    EXPECT_EQ(view["same_pointer"], !copy && view["offset"] == 0) << view;
    EXPECT_EQ(view["bytes"]["storage"], 4'000'000);
    EXPECT_EQ(view["bytes"]["logical"], product(view["sizes"]) * 4);
    const bool sees_all = view["bytes"]["reached"] == 4'000'000 && !copy;
    EXPECT_EQ(view["sum_after_write"], sees_all || view["name"] == "[500:, 500:]" ? 500 * 500 : 0) << view;
    users += copy ? 0 : 1;
  }
  EXPECT_EQ(shared["storage_users"], users);
  EXPECT_EQ(shared["views"][3]["offset"], 500 * 1000 + 500);
}

TEST(DemoCommand, sharing_shows_what_a_slice_keeps) {
  const json kept = demo("sharing")["kept_alive"];
  ASSERT_EQ(kept.size(), 6u);
  EXPECT_EQ(kept[3]["logical"], 400);
  EXPECT_EQ(kept[3]["storage"], 2'400'000'000);
  EXPECT_EQ(kept[3]["allocated"], 2'400'000'000);
  EXPECT_EQ(kept[4]["storage"], 400);
  EXPECT_EQ(kept[4]["allocated"], 512);
  EXPECT_GE(kept[1]["reserved"], 2'400'000'000);
  EXPECT_GE(kept[4]["reserved"], 2'400'000'000);
  EXPECT_GE(kept[5]["reserved"], 512);
  EXPECT_LT(kept[5]["reserved"], 32 << 20);
  for (const json& step : kept) EXPECT_LT(step["resident"], 500'000'000) << "it was only reserved";
  const std::string shown = text("sharing");
  EXPECT_THAT(shown, HasSubstr("The slice of 400 B keeps 2,400,000,000 B (2.24 GiB) allocated"));
}

TEST(DemoCommand, dtype_has_every_type) {
  const json types = demo("dtype");
  ASSERT_EQ(types["dtypes"].size(), kDTypes);
  const std::string shown = text("dtype");
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const json& row = types["dtypes"][i];
    EXPECT_EQ(row["dtype"], name(static_cast<DType>(i)));
    EXPECT_EQ(row["bytes"]["logical"], row["element_size"].get<std::uint64_t>() * 1'000'000);
    EXPECT_THAT(shown, HasSubstr(row["dtype"].get<std::string>()));
  }
  EXPECT_EQ(types["dtypes"][10]["element_size"], 8);
  EXPECT_EQ(types["dtypes"][11]["element_size"], 16);
}

TEST(DemoCommand, process_gives_resident_memory_back) {
  const json process = demo("process");
  EXPECT_EQ(process["storage"], 80'000'000);
  const json& steps = process["runs"][0]["steps"];
  ASSERT_EQ(steps.size(), 5u);
  const auto at = [&](std::size_t step, const char* key) { return steps[step][key].get<std::int64_t>(); };
  constexpr std::int64_t kSlack = 8 << 20;  // of the program itself
  const auto near = [](std::int64_t a, std::int64_t b) { return std::abs(a - b) <= kSlack; };
  for (const char* key : {"rss", "pss", "uss"}) {
    EXPECT_TRUE(near(at(1, key), at(0, key))) << key << steps;
    EXPECT_TRUE(near(at(2, key) - at(1, key), 80'000'000)) << key << steps;
    EXPECT_TRUE(near(at(3, key), at(2, key))) << key << steps;
    EXPECT_TRUE(near(at(4, key), at(0, key))) << key << steps;
  }
  EXPECT_EQ(at(2, "allocated"), 80'000'000);
  EXPECT_EQ(at(3, "allocated"), 0);
  EXPECT_GE(at(3, "reserved"), 80'000'000);
  EXPECT_EQ(at(4, "reserved"), 0);
}

TEST(DemoCommand, process_has_pinned_memory_from_the_start) {
  const json run = demo("process")["runs"][1];
  EXPECT_EQ(run["memory"], "pinned");
  const auto at = [&](std::size_t step, const char* key) { return run["steps"][step][key].get<std::int64_t>(); };
  for (std::size_t step : {1, 2, 3}) EXPECT_GE(at(step, "pinned"), 80'000'000);
  EXPECT_EQ(at(3, "allocated"), 0);
  EXPECT_EQ(at(4, "pinned"), 0);
  EXPECT_LT(at(4, "rss"), at(3, "rss") - 70'000'000);
  const bool locked = run["device"].get<std::string>().find(" not (") == std::string::npos;
  if (!locked) GTEST_SKIP() << "this process may not lock so much: " << run["device"];
  EXPECT_GT(at(1, "rss"), at(0, "rss") + 70'000'000);
}

TEST(DemoCommand, gpu_explains_what_the_cache_keeps) {
  for (const char* device : {"sim", "host"}) {
    const json gpu = demo("gpu", device);
    for (const json& step : gpu["steps"]) expect_ledger_adds_up(step["ledger"]);
    const auto ledger = [&](std::size_t step) { return gpu["steps"][step]["ledger"]; };
    const std::uint64_t one = gpu["storage"];
    EXPECT_EQ(one, 16'000'000u);
    EXPECT_EQ(ledger(1)["requested"], 5 * one);
    EXPECT_EQ(ledger(2)["requested"], 3 * one);
    EXPECT_EQ(ledger(2)["peak_allocated"], ledger(1)["allocated"]);
    EXPECT_EQ(ledger(3)["peak_allocated"], ledger(3)["allocated"]);
    // empty_cache gives back just what the ledger said beforehand.
    EXPECT_EQ(ledger(4)["reserved"].get<std::uint64_t>() + ledger(3)["releasable"].get<std::uint64_t>(),
              ledger(3)["reserved"]);
    EXPECT_EQ(ledger(4)["releasable"], 0);
    EXPECT_EQ(gpu["steps"].back()["ledger"]["reserved"], 0);
  }
}

TEST(DemoCommand, gpu_joins_holes_under_paged_only) {
  const json holes = demo("gpu")["holes"];
  ASSERT_EQ(holes.size(), 4u);
  for (const json& run : holes) {
    for (const char* instant : {"full", "holes", "larger"}) expect_ledger_adds_up(run[instant]);
    EXPECT_EQ(run["full"]["requested"], run["larger"]["requested"]);
    EXPECT_EQ(run["larger"]["reserved"].get<std::uint64_t>() - run["holes"]["reserved"].get<std::uint64_t>(),
              run["grown"]);
  }
  EXPECT_EQ(holes[0]["policy"], "paged");
  EXPECT_EQ(holes[0]["grown"], 0);
  EXPECT_EQ(holes[1]["policy"], "pytorch");
  EXPECT_GE(holes[1]["grown"], holes[1]["freed"]);
  EXPECT_LT(holes[2]["grown"], holes[3]["grown"]);
}

TEST(DemoCommand, estimation_is_measured_term_by_term) {
  const json step = demo("estimation");
  EXPECT_EQ(step["parameter_count"], 4'103'100);
  EXPECT_EQ(step["estimate"], 66'174'400);
  const std::string shown = text("estimation");
  std::uint64_t total = 0;
  for (const json& term : step["terms"]) {
    EXPECT_EQ(term["estimate"], term["requested"]) << term;
    EXPECT_EQ(term["estimate"], term["storages"]) << term;
    EXPECT_THAT(shown, HasSubstr(bytes(term["requested"])));
    total += term["requested"].get<std::uint64_t>();
  }
  EXPECT_EQ(total, step["estimate"]);
  for (const json& instant : step["instants"]) {
    std::uint64_t sum = 0;
    for (const auto& [purpose, value] : instant["requested"].items()) {
      if (purpose != "total") sum += value.get<std::uint64_t>();
    }
    EXPECT_EQ(sum, instant["requested"]["total"]) << instant;
    EXPECT_LE(sum, step["peak"]["requested"]["total"]);
  }
  expect_ledger_adds_up(step["ledger_forward"]);
  expect_ledger_adds_up(step["ledger_end"]);
  EXPECT_EQ(step["ledger_end"]["peak_requested"], step["peak"]["requested"]["total"]);
  EXPECT_THAT(shown, HasSubstr(bytes(step["peak"]["requested"]["total"])));
}

TEST(DemoCommand, runs_all_without_a_name_and_several_by_name) {
  const Ran all = run_quarry("demo --device sim --json");
  EXPECT_EQ(all.exit, 0);
  EXPECT_EQ(json::parse(all.out)["demos"].size(), 6u);
  const Ran two = run_quarry("demo dtype basic --device sim --json");
  EXPECT_EQ(two.exit, 0);
  EXPECT_EQ(json::parse(two.out)["demos"].size(), 2u);
  EXPECT_THAT(run_quarry("demo dtype --units MB").out, HasSubstr("16.00 MB"));
  EXPECT_THAT(run_quarry("demo dtype").out, testing::StartsWith("device: "));
}

TEST(DemoCommand, refuses_what_it_does_not_know) {
  EXPECT_EQ(run_quarry("demo nonsense").exit, 2);
  EXPECT_EQ(run_quarry("demo basic --device gpu").exit, 2);
  EXPECT_EQ(run_quarry("demo basic --units GB2").exit, 2);
}

// On a machine with a GPU it is taken; on others the answer is one line, never the simulation.
TEST(DemoCommand, says_in_one_line_that_there_is_no_gpu) {
  for (const char* device : {"cuda", "cuda:999", "cuda:12345"}) {
    const Ran ran = run_quarry_errors(std::string("demo dtype --device ") + device);
    if (ran.exit == 0) continue;
    EXPECT_EQ(ran.exit, 2);
    EXPECT_THAT(ran.out, testing::StartsWith(std::string("quarry demo: --device ") + device + ": "));
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1);
    EXPECT_EQ(run_quarry(std::string("demo dtype --device ") + device).out, "");
  }
}

}  // namespace
}  // namespace quarry::tools
