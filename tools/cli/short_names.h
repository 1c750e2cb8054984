// Names of files and devices in tables.
#pragma once

#include <map>
#include <span>
#include <string>

#include "tools/cli/replay_file.h"

namespace quarry::tools {

// The last part of the path, or the whole path where two files share it.
class ShortNames {
 public:
  explicit ShortNames(std::span<const FileReport> reports);

  std::string of(const FileReport& report) const;
  // The same, with the device where the file has several.
  std::string of(const FileReport& report, const DeviceReplay& device) const;

 private:
  std::map<std::string, int> seen_;
};

}  // namespace quarry::tools
