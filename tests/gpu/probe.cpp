// Says which GPU answers. Exit code 0 = one line with its name; 77 = one line with the reason why none does.
#include <cstdio>

#include "gpu/raw_api.h"

int main() {
  const std::shared_ptr<quarry::Driver> driver = quarry::gpu::open_gpu();
  const quarry::DriverResult<quarry::MemoryInfo> memory = driver->memory().info();
  std::printf("%s, %.1f GiB free of %.1f GiB\n", driver->memory().capabilities().name.c_str(),
              static_cast<double>(memory.value.free.count) / (1ull << 30),
              static_cast<double>(memory.value.total.count) / (1ull << 30));
  return memory ? 0 : 1;
}
