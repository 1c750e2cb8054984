#include "tools/cli/demo.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cli/conf.h"
#include "tools/cli/demo_json.h"
#include "tools/cli/demo_text.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/table.h"
#include "tools/device_name.h"

namespace quarry::tools {
namespace {

using Json = nlohmann::ordered_json;

struct DemoArguments {
  std::vector<std::string> names;
  std::string device = "auto";
  std::string units = "B";
  bool json = false;
};

struct Shown {
  std::string text;
  Json json;
};

template <class Demo>
Result<Shown> show(const Result<Demo>& demo, stats::Units units) {
  if (!demo) return demo.error();
  return Shown{demo_text(*demo, units), demo_json(*demo)};
}

struct DemoEntry {
  std::string_view name;
  Result<Shown> (*run)(const DemoDevice& device, stats::Units units);
};
constexpr std::array<DemoEntry, 6> kDemos = {
    {{"basic", [](const DemoDevice& d, stats::Units units) { return show(run_basic_demo(d), units); }},
     {"sharing", [](const DemoDevice& d, stats::Units units) { return show(run_sharing_demo(d), units); }},
     {"dtype", [](const DemoDevice& d, stats::Units units) { return show(run_dtype_demo(d), units); }},
     {"process", [](const DemoDevice&, stats::Units units) { return show(run_process_demo(), units); }},
     {"gpu", [](const DemoDevice& d, stats::Units units) { return show(run_gpu_demo(d), units); }},
     {"estimation", [](const DemoDevice& d, stats::Units units) { return show(run_estimation_demo(d), units); }}}};

std::vector<std::string> demo_names() {
  std::vector<std::string> names;
  for (const DemoEntry& entry : kDemos) names.emplace_back(entry.name);
  return names;
}

// In the order of the table, each once; all where none is named.
bool is_wanted(const DemoArguments& arguments, std::string_view name) {
  return arguments.names.empty() || std::ranges::find(arguments.names, name) != arguments.names.end();
}

int fail(std::string_view what, const Error& error) {
  fmt::print(stderr, "quarry demo: {}: {}\n", what, for_terminal(error.message));
  return kExitUsage;
}

int run_demo(const DemoArguments& arguments) {
  const Result<DemoDevice> device = choose_demo_device(arguments.device);
  if (!device) return fail("--device " + arguments.device, device.error());
  if (!arguments.json) fmt::print("device: {} ({})\n", device->taken, for_terminal(device->why));
  Json demos = Json::object();
  for (const DemoEntry& entry : kDemos) {
    if (!is_wanted(arguments, entry.name)) continue;
    const Result<Shown> shown = entry.run(*device, unit_names().at(arguments.units));
    if (!shown) return fail(entry.name, shown.error());
    demos[std::string(entry.name)] = shown->json;
    if (!arguments.json) fmt::print("\n{}", shown->text);
    std::fflush(stdout);
  }
  if (arguments.json) {
    const Json all = {
        {"schema", 1}, {"device", {{"backend", device->taken}, {"why", device->why}}}, {"demos", std::move(demos)}};
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  return kExitDone;
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<DemoArguments>();
  CLI::App* demo = app.add_subcommand("demo", "Tensor memory shown step by step, every number measured and explained");
  demo->add_option("NAME", arguments->names, "Which to run; all of them where none is named")
      ->check(CLI::IsMember(demo_names()));
  demo->add_option("--device", arguments->device,
                   "auto, cuda[:N], sim or host; process, and the large tensor of sharing, are always in host memory")
      ->check(CLI::Validator(check_device_name, "DEVICE"))
      ->capture_default_str();
  demo->add_option("--units", arguments->units, "Of sizes in tables")
      ->check(CLI::IsMember(&unit_names()))
      ->capture_default_str();
  demo->add_flag("--json", arguments->json, "One JSON object instead of text; sizes in bytes");
  demo->footer(
      "Examples:\n"
      "  quarry demo                          all six: basic sharing dtype process gpu estimation\n"
      "  quarry demo basic                    how large is a tensor?\n"
      "  quarry demo gpu --device sim         what the allocator keeps, on the simulated device\n"
      "  quarry demo estimation --json        a training step, measured term by term\n"
      "Exit codes: 0 done, 2 usage, or there is no such device.");
  demo->callback([arguments, &exit_code] { exit_code = run_demo(*arguments); });
}

}  // namespace quarry::tools
