// A program that takes the allocator alone.
#include <cstdio>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

int main() {
  auto gpu = quarry::sim::open();
  if (!gpu) return std::puts(gpu.error().message.c_str()), 1;
  auto block = gpu->allocate(1000);
  return block && block->block_size() == 1024 ? 0 : 1;
}
