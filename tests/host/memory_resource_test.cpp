// A space as a std::pmr::memory_resource.
#include <quarry/allocator/memory_resource.h>

#include <cstring>
#include <list>
#include <memory_resource>
#include <string>
#include <unordered_map>

#include "host/host_bench.h"

namespace quarry::test {
namespace {

TEST(MemoryResource, ServesTheContainersOfTheStandardLibrary) {
  Allocator host = *open_host();
  MemoryResource resource(host);
  {
    std::pmr::vector<std::pmr::string> words(&resource);
    std::pmr::unordered_map<int, std::pmr::list<int>> lists(&resource);
    for (int i = 0; i < 2000; ++i) {
      words.emplace_back("a word that is too long for the string itself, number " + std::to_string(i));
      lists[i % 17].push_back(i);
    }
    EXPECT_EQ(words[1234].substr(words[1234].size() - 4), "1234");
    EXPECT_EQ(lists[3].size(), 118u);
    EXPECT_GT(host.ledger().live_blocks, 4000u);
  }
  expect_nothing_left(host);
}

TEST(MemoryResource, ServesEveryAlignment) {
  Allocator host = *open_host();
  MemoryResource resource(host);
  for (std::size_t alignment = 1; alignment <= 4 << 20; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{70000}}) {
      void* const first = resource.allocate(bytes, alignment);
      void* const second = resource.allocate(bytes, alignment);
      for (void* place : {first, second}) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % alignment, 0u) << alignment;
        std::memset(place, 0xff, bytes);
      }
      resource.deallocate(first, bytes, alignment);
      resource.deallocate(second, bytes, alignment);
    }
  }
  EXPECT_THROW((void)resource.allocate(~std::size_t{0} - 100, 1024), OutOfMemory);
  expect_nothing_left(host);
}

TEST(MemoryResource, ThrowsWhenMemoryIsOut) {
  Options options;
  options.memory_limit = 1_MiB;
  MemoryResource resource(*open_host(options));
  EXPECT_THROW((void)resource.allocate((2_MiB).count), OutOfMemory);
  EXPECT_THROW((void)resource.allocate(std::size_t{1} << 62), OutOfMemory);
  void* const nothing = resource.allocate(0);
  EXPECT_NE(nothing, nullptr);
  resource.deallocate(nothing, 0);
}

TEST(MemoryResource, IsEqualToOneOfTheSameSpace) {
  Allocator host = *open_host();
  MemoryResource one(host);
  MemoryResource same(host);
  MemoryResource other(*open_host());
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
  EXPECT_NE(one, *std::pmr::new_delete_resource());
  same.deallocate(one.allocate(100), 100);
  expect_nothing_left(host);
}

// Under the pools of the standard library it gives the large pieces.
TEST(MemoryResource, FeedsAPool) {
  Allocator host = *open_host();
  MemoryResource resource(host);
  {
    std::pmr::unsynchronized_pool_resource pool(&resource);
    std::pmr::vector<std::pmr::vector<int>> rows(&pool);
    for (int i = 0; i < 300; ++i) rows.emplace_back(static_cast<std::size_t>(i), i);
    EXPECT_EQ(rows[299][298], 299);
  }
  expect_nothing_left(host);
}

}  // namespace
}  // namespace quarry::test
