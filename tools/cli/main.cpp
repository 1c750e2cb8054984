// The program `quarry`: one subcommand per file beside this one. Results go to standard output, all else to standard
// error.
#include <csignal>
#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/demo.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/info.h"
#include "tools/cli/replay.h"

namespace {

int run(int argc, char** argv) {
  int exit_code = quarry::tools::kExitDone;
  CLI::App app("quarry: a caching memory allocator for GPUs and hosts, and its instruments", "quarry");
  app.set_version_flag("--version", "quarry " QUARRY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  quarry replay snapshot.pickle        is our allocator the one that was recorded?\n"
      "  quarry replay snapshot.pickle --policy all\n"
      "                                       how much memory would each policy have reserved?\n"
      "  quarry replay case.ops               a script with expectations, step by step\n"
      "  quarry info                          device and options\n"
      "  quarry demo                          what a tensor takes, shown step by step\n"
      "`quarry SUBCOMMAND --help` has more. Exit codes: 0 done, 1 mismatch, 2 usage, 3 bad input, 4 incomplete input.");
  quarry::tools::add_info(app, exit_code);
  quarry::tools::add_demo(app, exit_code);
  quarry::tools::add_replay(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? quarry::tools::kExitDone : quarry::tools::kExitUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that has seen enough ends the program without a word.
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "quarry: {}\n", error.what());
    return quarry::tools::kExitUsage;
  }
}
