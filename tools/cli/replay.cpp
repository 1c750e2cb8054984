#include "tools/cli/replay.h"

#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/conf.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/replay_compare_text.h"
#include "tools/cli/replay_file.h"
#include "tools/cli/replay_json.h"
#include "tools/cli/replay_text.h"
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

struct ReplayArguments {
  std::vector<std::string> files;
  std::string policy;  // empty = not given
  std::vector<std::string> sets;
  std::string tie;  // empty = not given
  std::size_t device = 0;
  std::string known;
  std::string units = "auto";
  std::string scale = "auto";
  std::uint32_t repeat = 1;
  bool verify = false;
  bool json = false;
  bool markdown = false;
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

// Traces are verified unless other policies are asked for, or what only a ranking has.
bool is_verify(const ReplayArguments& arguments) {
  const bool one = arguments.policy.empty() || arguments.policy == "pytorch";
  return one && arguments.repeat == 1 && !arguments.markdown;
}

// `--scale`: a whole number from 1 to 2^40, or auto (nothing).
Result<std::optional<std::uint64_t>> parse_scale(const std::string& text) {
  if (text == "auto") return std::optional<std::uint64_t>();
  std::uint64_t scale = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (error == std::errc{} && stop == text.data() + text.size() && scale > 0 && scale <= std::uint64_t{1} << 40) {
    return std::optional(scale);
  }
  return Error{ErrorCode::invalid, fmt::format("--scale {}: a whole number from 1 to 2^40, or auto", text)};
}

// What is asked of compare mode, or what is wrong with the command line whatever the files hold.
Result<CompareRequest> find_request(const ReplayArguments& arguments) {
  CompareRequest request;
  Result<std::vector<const PolicyEntry*>> policies =
      parse_policies(arguments.policy.empty() ? "all" : arguments.policy);
  if (!policies) return Error{ErrorCode::invalid, "--policy: " + policies.error().message};
  request.policies = *std::move(policies);
  if (arguments.verify && !is_verify(arguments)) {
    return Error{ErrorCode::invalid,
                 "--verify compares addresses: with --policy pytorch only, once, and no --markdown"};
  }
  const Result<std::optional<std::uint64_t>> scale = parse_scale(arguments.scale);
  if (!scale) return scale.error();
  request.scale = *scale;
  request.repeat = arguments.repeat;
  if (const Result<Options> options = effective_options({}, arguments.sets); !options) return options.error();
  return request;
}

int run_replay(const ReplayArguments& arguments) {
  Result<CompareRequest> compare = find_request(arguments);
  if (!compare) return usage_error(compare.error().message);
  ReplayRequest request;
  request.verify = is_verify(arguments);
  request.compare = *std::move(compare);
  request.policy = arguments.policy.empty() ? "pytorch" : arguments.policy;
  if (arguments.markdown || !case_options(request.policy)) request.policy.clear();  // cases are not ranked
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
  } else if (arguments.markdown) {
    fmt::print("{}", compare_markdown(reports, request.compare.policies));
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
    "  quarry replay case.ops --policy paged             the same script, judged by the rules of another policy\n"
    "  quarry replay snapshot.pickle --json              for programs\n"
    "  quarry replay snapshot.pickle --policy all        how much would each policy have reserved? ranked\n"
    "  quarry replay graph.csv --policy paged,packed,bound --repeat 4\n"
    "                                                    a packing problem (id,lower,upper,size), four times over\n"
    "  quarry replay *.pickle.gz *.csv --policy all --markdown\n"
    "                                                    one table for a document\n"
    "Exit codes: 0 all match or ranked, 1 mismatch, 2 usage, 3 a file cannot be read, 4 inconsistent or skipped.";

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* replay = app.add_subcommand(
      "replay",
      "Run recordings and case files through our allocator and compare every answer with the recorded one, or rank "
      "policies by what they reserve");
  replay
      ->add_option("FILE", arguments->files,
                   "PyTorch memory snapshots (pickle or JSON), packing problems (CSV), recorded cases, .ops scripts")
      ->required();
  replay->add_option(
      "--policy", arguments->policy,
      "all, or a list of keys: ranks policies by peak reserved, each from an empty allocator. Without it, "
      "and with pytorch alone, addresses are compared; packing problems are always ranked. Of cases: pytorch, paged, "
      "paged+tight or paged+fast");
  replay
      ->add_option("--repeat", arguments->repeat,
                   "Iterations of the window when policies are ranked; blocks that span it are kept")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  replay
      ->add_option("--scale", arguments->scale,
                   "Multiplies the sizes of a packing problem; auto: by 2048 where its peak is below 2 MiB, so that 1 "
                   "KiB stands for a page")
      ->capture_default_str();
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
  replay->add_flag("--verify", arguments->verify, "Compare addresses; the default without --policy");
  CLI::Option* json = replay->add_flag("--json", arguments->json, "One JSON object instead of text; sizes in bytes");
  replay->add_flag("--markdown", arguments->markdown, "One Markdown table of all files: F by policy")->excludes(json);
  replay->footer(kExamples);
  replay->callback([arguments, device, &exit_code] {
    arguments->device_given = device->count() != 0;
    exit_code = run_replay(*arguments);
  });
}

}  // namespace quarry::tools
