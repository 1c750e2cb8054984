// quarry beside other allocators on one simulated device each: what an allocation and a free cost the host.
//
// The peers are CUB's CachingDeviceAllocator, over a stand-in for the nine runtime calls it makes (once as it is, once
// with events that cost nothing), and a best fit over std::map. bench/compare.sh builds and runs it;
// bench/instructions.sh counts instructions with its --count.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/compare/cases.h"
#include "bench/compare/measure.h"
#include "bench/compare/report.h"
#include "bench/compare/subject.h"
#include "tools/cli/exit_code.h"

namespace quarry::bench {
namespace {

constexpr Effort kQuick{.rounds = 2, .operations = 500, .longest = 500};

struct Arguments {
  bool quick = false;
  bool list = false;
  bool pytorch = false;
  std::string json;
  std::vector<std::string> only;
  std::vector<std::string> traces;
  Effort effort;
  std::string count;
  std::string subject{kFast};
};

// The cases whose name holds one of `only`; all where that is empty.
std::vector<Case> wanted_cases(const Arguments& arguments) {
  std::vector<Case> cases = all_cases();
  for (const std::string& path : arguments.traces) cases.push_back(trace_case(path));
  if (arguments.only.empty()) return cases;
  std::erase_if(cases, [&](const Case& one) {
    return std::ranges::none_of(arguments.only,
                                [&](const std::string& part) { return one.name.find(part) != std::string::npos; });
  });
  return cases;
}

int fail(int exit_code, const std::string& message) {
  fmt::print(stderr, "bench_compare: {}\n", message);
  return exit_code;
}

int count_one(const Arguments& arguments) {
  for (const Case& one : wanted_cases(arguments)) {
    if (one.name != arguments.count) continue;
    Result<Workload> workload = one.make();
    if (!workload) return fail(tools::kExitBadInput, workload.error().message);
    const Result<std::uint64_t> operations = run_once(*std::move(workload), arguments.subject, arguments.effort);
    if (!operations) return fail(tools::kExitUsage, operations.error().message);
    fmt::print("operations {}\n", *operations);
    return tools::kExitDone;
  }
  return fail(tools::kExitUsage, fmt::format("--count {}: no such case, --list has them", arguments.count));
}

int compare(const Arguments& arguments) {
  Report report{.cases = {}, .left_out = {}, .effort = arguments.effort, .quick = arguments.quick};
  std::vector<std::string_view> subjects = subject_names();
  if (!arguments.pytorch) std::erase(subjects, kPytorch);
  std::ranges::copy_if(subjects, std::back_inserter(report.left_out), [](auto name) { return !open_subject(name); });
  for (const Case& one : wanted_cases(arguments)) {
    Result<Workload> workload = one.make();
    if (!workload) return fail(tools::kExitBadInput, workload.error().message);
    Result<std::vector<Figure>> figures = measure(*std::move(workload), subjects, report.effort);
    if (!figures) return fail(tools::kExitMismatch, one.name + ": " + figures.error().message);
    report.cases.push_back({one.name, *std::move(figures)});
  }
  fmt::print("{}", text(report));
  if (arguments.json.empty()) return tools::kExitDone;
  std::ofstream file(arguments.json);
  file << json(report).dump(1) << '\n';
  return file.flush() ? tools::kExitDone : fail(tools::kExitUsage, arguments.json + ": cannot be written");
}

int run(int count, char** words) {
  Arguments arguments;
  CLI::App app("Times quarry beside CUB's caching allocator and a std::map best fit, on simulated devices.");
  app.add_flag("--quick", arguments.quick, "Short lists, to see that all runs; the figures mean nothing");
  app.add_option("--json", arguments.json, "Write the figures to this file as well")->type_name("FILE");
  app.add_option("--cases", arguments.only, "Only cases whose name holds this text")->type_name("TEXT");
  app.add_option("--trace", arguments.traces, "One more trace: of one device, stream and pool")->type_name("FILE");
  app.add_option("--rounds", arguments.effort.rounds, "Rounds after the first, which is not counted")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--pytorch", arguments.pytorch, "One more peer: quarry with the pytorch policy");
  app.add_flag("--list", arguments.list, "Only print the names of the cases");
  app.add_option("--count", arguments.count, "For callgrind: run one case on one subject")->type_name("CASE");
  app.add_option("--subject", arguments.subject, "... on this one")->capture_default_str();
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tools::kExitDone : tools::kExitUsage;
  }
  if (arguments.quick) arguments.effort = kQuick;
  if (arguments.list) {
    for (const Case& one : wanted_cases(arguments)) fmt::print("{}\n", one.name);
    return tools::kExitDone;
  }
  return arguments.count.empty() ? compare(arguments) : count_one(arguments);
}

}  // namespace
}  // namespace quarry::bench

int main(int argc, char** argv) {
  try {
    return quarry::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_compare: {}\n", error.what());
    return quarry::tools::kExitUsage;
  }
}
