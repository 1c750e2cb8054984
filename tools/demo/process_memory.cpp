#include "tools/demo/process_memory.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace quarry::tools {
namespace {

constexpr const char* kFile = "/proc/self/smaps_rollup";

// Lines `Name:   123 kB`; what looks different is not ours to read.
std::map<std::string, std::uint64_t, std::less<>> read_kilobytes(std::istream& file) {
  std::map<std::string, std::uint64_t, std::less<>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string unit;
    std::uint64_t count = 0;
    if (words >> name >> count >> unit && unit == "kB" && name.ends_with(':')) rows[name] = count;
  }
  return rows;
}

}  // namespace

Result<ProcessMemory> read_process_memory() {
  std::ifstream file(kFile);
  const auto rows = read_kilobytes(file);
  std::string missing;
  const auto bytes = [&](std::string_view name) {
    const auto found = rows.find(name);
    if (found == rows.end()) missing = name;
    return found == rows.end() ? Bytes{} : Bytes{found->second * 1024};
  };
  const ProcessMemory memory{bytes("Rss:"), bytes("Pss:"), bytes("Private_Clean:") + bytes("Private_Dirty:")};
  if (missing.empty()) return memory;
  return Error{ErrorCode::unsupported, std::string(kFile) + ": no line " + missing + " (Linux 4.14 or later has it)"};
}

}  // namespace quarry::tools
