#include <quarry/allocator/driver/system_memory.h>

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace quarry {

namespace {

// MemAvailable of /proc/meminfo.
std::optional<Bytes> available() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  constexpr std::string_view kKey = "MemAvailable:";
  while (std::getline(file, line)) {
    if (line.compare(0, kKey.size(), kKey) != 0) continue;
    return Bytes{std::strtoull(line.c_str() + kKey.size(), nullptr, 10) << 10};  // the file counts in KiB
  }
  return std::nullopt;
}

MemoryInfo machine() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return {};
  const Bytes unit{info.mem_unit};
  return {available().value_or(unit * info.freeram), unit * info.totalram};
}

// Address space this process has already taken.
Bytes mapped() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return system_page_size() * pages;
}

}  // namespace

Bytes system_page_size() { return {static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))}; }

MemoryInfo system_memory() {
  MemoryInfo memory = machine();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return memory;
  const Bytes allowed{limit.rlim_cur};
  memory.total = std::min(memory.total, allowed);
  memory.free = std::min(memory.free, allowed - std::min(allowed, mapped()));
  return memory;
}

}  // namespace quarry
