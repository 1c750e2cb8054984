#include "tools/cli/short_names.h"

#include <fmt/format.h>
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

ShortNames::ShortNames(std::span<const FileReport> reports) {
  for (const FileReport& report : reports) ++seen_[last_part(report.file)];
}

std::string ShortNames::of(const FileReport& report) const {
  const std::string name = last_part(report.file);
  return for_terminal(seen_.at(name) == 1 ? name : report.file);
}

std::string ShortNames::of(const FileReport& report, const DeviceReplay& device) const {
  return report.devices.size() > 1 ? fmt::format("{} device {}", of(report), device.device) : of(report);
}

}  // namespace quarry::tools
