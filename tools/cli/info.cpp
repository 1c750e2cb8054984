#include "tools/cli/info.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <quarry/allocator/allocator.h>
#include <quarry/allocator/driver/cuda.h>
#include <quarry/allocator/driver/host.h>
#include <quarry/allocator/driver/pinned.h>
#include <quarry/allocator/sim/device.h>
#include <nlohmann/json.hpp>

#include "tools/cli/conf.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/table.h"
#include "tools/device_name.h"

namespace quarry::tools {
namespace {

using Json = nlohmann::ordered_json;

struct InfoArguments {
  std::string device = "auto";
  std::vector<std::string> sets;
  std::string units = "auto";
  bool json = false;
};

struct Backend {
  std::string taken;  // cuda:N, sim, host, pinned
  std::string why;
  std::shared_ptr<Driver> driver;
};

Result<Backend> open_gpu(const std::string& device) {
  const Result<int> ordinal = cuda_ordinal(device);
  if (!ordinal) return ordinal.error();
  Result<std::shared_ptr<Driver>> driver = make_cuda_driver(*ordinal);
  if (!driver) return driver.error();
  return Backend{fmt::format("cuda:{}", *ordinal), "as asked", *std::move(driver)};
}

// Of a GPU if one answers, else locked by this process.
Backend open_pinned_backend() {
  const Result<Backend> gpu = open_gpu("cuda");
  if (gpu) return {"pinned", "of " + gpu->taken, make_pinned_driver(gpu->driver)};
  return {"pinned", gpu.error().message, make_locked_driver()};
}

// auto is the GPU if one answers, else the simulated device; it says which and why.
Result<Backend> open_backend(const std::string& device) {
  if (device == "sim") return Backend{"sim", "as asked", std::make_shared<sim::Device>()};
  if (device == "host") return Backend{"host", "as asked", make_host_driver({.mapping = false})};
  if (device == "pinned") return open_pinned_backend();
  if (device != "auto") return open_gpu(device);
  Result<Backend> gpu = open_gpu("cuda");
  if (gpu) {
    gpu->why = "auto: a GPU answers";
    return gpu;
  }
  return Backend{"sim", "auto: " + gpu.error().message, std::make_shared<sim::Device>()};
}

void print_backend(const Backend& backend, const InfoArguments& arguments) {
  const Capabilities can = backend.driver->memory().capabilities();
  const DriverResult<MemoryInfo> memory = backend.driver->memory().info();
  const auto bytes = [&](Bytes n) { return stats::format_bytes(n, unit_names().at(arguments.units)); };
  fmt::print("device    {} ({})\n", backend.taken, for_terminal(backend.why));
  fmt::print("  name                  {}\n", for_terminal(can.name));
  if (memory && memory.value.total == kUnlimited) {
    fmt::print("  memory                unlimited\n");
  } else if (memory) {
    fmt::print("  memory                {} free of {}\n", bytes(memory.value.free), bytes(memory.value.total));
  }
  fmt::print("  segment granularity   {}\n", bytes(can.segment_granularity));
  fmt::print("  mapping of pages      {}\n", can.page_size == Bytes{} ? "no" : "pages of " + bytes(can.page_size));
  if (backend.driver->mapping() == nullptr) fmt::print("  paged policy          without mapping: contiguous\n");
  fmt::print("  streams and events    {}\n", backend.driver->ordering() != nullptr ? "yes" : "no");
  fmt::print("  bytes can be read     {}\n\n", can.readable ? "yes" : "no");
}

void print_options(const Options& options) {
  Table table({{"option"}, {"value"}, {"unit"}, {"origin"}, {"default"}, {"limits"}, {"supported"}});
  const Options defaults;
  const auto rows = option_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.row({std::string(rows[i].key), rows[i].show(options), std::string(rows[i].unit),
               std::string(origin_name(options.origins[i])), rows[i].show(defaults), std::string(rows[i].limits),
               std::string(support_name(rows[i].support))});
  }
  fmt::print("{}", table.text());
}

Json to_json(const Backend& backend, const Options& options) {
  const Capabilities can = backend.driver->memory().capabilities();
  const DriverResult<MemoryInfo> memory = backend.driver->memory().info();
  Json device = {{"backend", backend.taken},
                 {"name", can.name},
                 {"segment_granularity", can.segment_granularity.count},
                 {"page_size", can.page_size.count},
                 {"mapping", backend.driver->mapping() != nullptr},
                 {"ordering", backend.driver->ordering() != nullptr},
                 {"readable", can.readable}};
  device["free"] = memory ? Json(memory.value.free.count) : Json();
  device["total"] = memory ? Json(memory.value.total.count) : Json();
  Json list = Json::array();
  const auto rows = option_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    list.push_back({{"key", rows[i].key},
                    {"value", rows[i].show(options)},
                    {"unit", rows[i].unit},
                    {"origin", origin_name(options.origins[i])},
                    {"default", rows[i].show(Options{})},
                    {"limits", rows[i].limits},
                    {"supported", rows[i].support == Support::full}});
  }
  return {{"schema", 1}, {"device", std::move(device)}, {"options", std::move(list)}};
}

int run_info(const InfoArguments& arguments) {
  const Result<Backend> backend = open_backend(arguments.device);
  if (!backend) {
    fmt::print(stderr, "quarry: --device {}: {}\n", arguments.device, for_terminal(backend.error().message));
    return kExitUsage;
  }
  const Result<Options> options = effective_options({}, arguments.sets);
  if (!options) {
    fmt::print(stderr, "quarry: {}\n", for_terminal(options.error().message));
    return kExitUsage;
  }
  if (arguments.json) {
    fmt::print("{}\n", to_json(*backend, *options).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_backend(*backend, arguments);
    print_options(*options);
  }
  return kExitDone;
}

// The devices, and pinned memory.
std::string check_space(const std::string& text) { return text == "pinned" ? "" : check_device_name(text); }

}  // namespace

void add_info(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* info = app.add_subcommand("info", "The device taken, what it can do, and the options in force");
  info->add_option("--device", arguments->device, "auto, cuda[:N], sim, host or pinned")
      ->check(CLI::Validator(check_space, "DEVICE"))
      ->capture_default_str();
  info->add_option("--set", arguments->sets, "An option, key=value; may be given again")->allow_extra_args(false);
  info->add_option("--units", arguments->units, "Of sizes")->check(CLI::IsMember(&unit_names()))->capture_default_str();
  info->add_flag("--json", arguments->json, "One JSON object instead of text; sizes in bytes");
  info->footer(
      "Examples:\n"
      "  quarry info\n"
      "  quarry info --device host\n"
      "  QUARRY_CONF=max_split_size_mb:128 quarry info --set tie_break=address");
  info->callback([arguments, &exit_code] { exit_code = run_info(*arguments); });
}

}  // namespace quarry::tools
