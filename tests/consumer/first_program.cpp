#include <cstdio>
#include <cstring>

#include <quarry/allocator/allocator.h>
#include <quarry/stats/summary.h>

int main() {
  auto opened = quarry::open_host();  // this process's memory; quarry::sim::open() simulates a GPU
  if (!opened) return std::puts(opened.error().message.c_str()), 1;
  quarry::Allocator memory = *opened;  // a cheap handle, shared by all threads

  auto block = memory.allocate(64 << 20);  // a Result: a block, or an error that says where the memory went
  if (!block) return std::puts(block.error().message.c_str()), 1;
  std::memset(block->data(), 1, block->size());

  block->reset();  // or at the end of its scope; the bytes stay cached for the next request
  auto next = memory.allocate(48 << 20);
  std::puts(quarry::stats::summary(memory.stats()).c_str());
}
