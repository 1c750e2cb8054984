#include "tools/cli/replay.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/conf.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/replay_file.h"
#include "tools/cli/replay_json.h"
#include "tools/cli/replay_text.h"
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

struct ReplayArguments {
  std::vector<std::string> files;
  std::string policy = "pytorch";
  std::vector<std::string> sets;
  std::string tie;  // empty = not given
  std::size_t device = 0;
  std::string known;
  std::string units = "auto";
  bool verify = false;
  bool json = false;
  bool device_given = false;
};

const std::map<std::string, TieChoice>& tie_names() {
  static const std::map<std::string, TieChoice> names = {
      {"auto", TieChoice::automatic}, {"address", TieChoice::address}, {"segment", TieChoice::segment}};
  return names;
}

int usage_error(const std::string& message) {
  fmt::print(stderr, "quarry replay: {}\n", for_terminal(message));
  return kExitUsage;
}

// What is wrong with the command line whatever the files hold; empty if nothing.
std::string find_usage_error(const ReplayArguments& arguments) {
  if (arguments.policy != "pytorch") {
    return fmt::format("--policy {}: this version has the policy pytorch only", arguments.policy);
  }
  const Result<Options> options = effective_options({}, arguments.sets);
  return options ? "" : options.error().message;
}

int run_replay(const ReplayArguments& arguments) {
  if (const std::string error = find_usage_error(arguments); !error.empty()) return usage_error(error);
  ReplayRequest request;
  request.sets = arguments.sets;
  if (!arguments.tie.empty()) request.tie = tie_names().at(arguments.tie);
  if (arguments.device_given) request.device = arguments.device;
  if (!arguments.known.empty()) {
    Result<KnownDifferences> known = read_known(arguments.known);
    if (!known) {
      fmt::print(stderr, "quarry replay: {}\n", for_terminal(known.error().message));
      return kExitBadInput;
    }
    request.known = *std::move(known);
  }
  std::vector<FileReport> reports;
  int exit_code = kExitDone;
  for (const std::string& file : arguments.files) {
    const FileReport& report = reports.emplace_back(replay_file(file, request));
    exit_code = worse_exit(exit_code, report.exit);
    if (!report.error.empty()) fmt::print(stderr, "quarry replay: {}\n", for_terminal(report.error));
  }
  if (arguments.json) {
    fmt::print("{}\n", replay_json(reports));
  } else {
    fmt::print("{}", replay_text(reports, unit_names().at(arguments.units)));
  }
  return exit_code;
}

constexpr const char* kExamples =
    "Examples:\n"
    "  quarry replay snapshot.pickle                     every address compared with the recorded one\n"
    "  quarry replay *.pickle.gz --tie-break segment     several files, a row for each\n"
    "  quarry replay snapshot.pickle --set roundup_power2_divisions=8\n"
    "                                                    with another option: where do the two part?\n"
    "  quarry replay case.ops rounding.json --known accepted.txt\n"
    "                                                    scripts and recorded cases, step by step\n"
    "  quarry replay snapshot.pickle --json              for programs\n"
    "Exit codes: 0 all match, 1 mismatch, 2 usage, 3 a file cannot be read, 4 inconsistent or skipped.";

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* replay = app.add_subcommand(
      "replay", "Run recordings and case files through our allocator and compare every answer with the recorded one");
  replay
      ->add_option("FILE", arguments->files, "PyTorch memory snapshots (pickle or JSON), recorded cases, .ops scripts")
      ->required();
  replay->add_option("--policy", arguments->policy, "The policy to run")->capture_default_str();
  replay->add_option("--set", arguments->sets, "An option, key=value, over the recorded one; may be given again")
      ->allow_extra_args(false);
  replay
      ->add_option("--tie-break", arguments->tie, "Among equally large free blocks; auto tries both and is the default")
      ->check(CLI::IsMember(&tie_names()));
  CLI::Option* device = replay->add_option("--trace-device", arguments->device, "Only this device of the trace");
  replay->add_option("--known", arguments->known, "A file of accepted differences (FILE CASE STEP KEY, one a line)");
  replay->add_option("--units", arguments->units, "Of sizes")
      ->check(CLI::IsMember(&unit_names()))
      ->capture_default_str();
  replay->add_flag("--verify", arguments->verify, "Compare addresses; the default with one policy");
  replay->add_flag("--json", arguments->json, "One JSON object instead of text; sizes in bytes");
  replay->footer(kExamples);
  replay->callback([arguments, device, &exit_code] {
    arguments->device_given = device->count() != 0;
    exit_code = run_replay(*arguments);
  });
}

}  // namespace quarry::tools
