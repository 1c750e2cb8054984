// Pageable memory: open_host.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstring>
#include <random>
#include <sstream>

#include "host/host_bench.h"
#include "support/identities.h"

#include <quarry/allocator/driver/numa.h>

namespace quarry::test {
namespace {

TEST(Pageable, EmptyCacheLowersTheResidentMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own for every byte touched";
  Allocator host = *open_host();
  if (host.driver()->memory().info().value.free < 2_GiB) GTEST_SKIP() << "this machine has no 2 GiB to spare";
  { const auto warm = *host.allocate((1_MiB).count); }
  host.empty_cache();
  const std::uint64_t before = resident();
  {
    const auto block = *host.allocate((1_GiB).count);
    std::memset(block.data(), 1, block.size());
    EXPECT_GE(resident(), before + (1_GiB).count - (1_MiB).count);
  }
  EXPECT_GE(resident(), before + (1_GiB).count - (1_MiB).count) << "cached";
  EXPECT_EQ(host.empty_cache(), 1_GiB);
  EXPECT_LE(resident(), before + (1_MiB).count);
  expect_nothing_left(host);
}

TEST(Pageable, ManyBlocksGoBackToo) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own for every byte touched";
  Allocator host = *open_host();
  const std::uint64_t before = resident();
  {
    std::mt19937_64 random(7);
    std::vector<Allocation> blocks;
    for (int i = 0; i < 400; ++i) {
      blocks.push_back(*host.allocate(1 + random() % (1 << 20)));
      std::memset(blocks.back().data(), 1, blocks.back().size());
    }
    EXPECT_GE(resident(), before + (100_MiB).count);
  }
  host.empty_cache();
  EXPECT_LE(resident(), before + (2_MiB).count) << "with the records of 400 blocks";
  expect_nothing_left(host);
}

TEST(Pageable, FreeNeighboursMergeAndServeALargerRequest) {
  Allocator host = *open_host();
  std::vector<Allocation> parts;
  { const auto all = *host.allocate((64_MiB).count); }
  for (int i = 0; i < 8; ++i) parts.push_back(*host.allocate((8_MiB).count));
  EXPECT_EQ(held(host), 64_MiB) << "cut from the one segment";
  parts.clear();
  const auto all = *host.allocate((64_MiB).count);
  EXPECT_EQ(held(host), 64_MiB) << "and merged again";
  EXPECT_EQ(host.validate(), "");
}

TEST(Pageable, TheLimitHolds) {
  Options options;
  options.memory_limit = 100_MiB;
  Allocator host = *open_host(options);
  const auto most = *host.allocate((90_MiB).count);
  const Result<Allocation> more = host.allocate((20_MiB).count);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(host.allocate((9_MiB).count));
}

TEST(Pageable, BlocksAreAlignedAndKeepTheirBytes) {
  Allocator host = *open_host();
  std::mt19937_64 random(3);
  std::vector<std::pair<Allocation, int>> live(30);
  for (int i = 0; i < 600; ++i) {
    auto& [block, value] = live[random() % live.size()];
    const auto* bytes = static_cast<const unsigned char*>(block.data());
    for (std::size_t at = 0; at < block.size(); at += 4093) ASSERT_EQ(bytes[at], value);
    block = *host.allocate(1 + random() % (1ull << (random() % 22)));
    value = static_cast<int>(random() % 256);
    ASSERT_EQ(block.address().value % 512, 0u);
    std::memset(block.data(), value, block.size());
  }
  live.clear();
  expect_nothing_left(host);
}

struct Count final : Observer {
  void on_record(const Record& record) noexcept override { ++actions[static_cast<std::size_t>(record.action)]; }
  std::array<int, 16> actions{};
};

TEST(Pageable, TheObserverSeesSegmentsAndBlocks) {
  Allocator host = *open_host();
  Count count;
  host.attach(count);
  { const auto block = *host.allocate(1000); }
  host.empty_cache();
  host.detach();
  for (const Action action :
       {Action::alloc, Action::free_requested, Action::free_completed, Action::segment_alloc, Action::segment_free}) {
    EXPECT_EQ(count.actions[static_cast<std::size_t>(action)], 1) << static_cast<int>(action);
  }
}

// The child's writes are its own.
TEST(Pageable, AForkedChildHasItsOwnBytes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow into a forked child";
  Allocator host = *open_host();
  const auto block = *host.allocate(10000);
  std::memset(block.data(), 1, block.size());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::memset(block.data(), 2, block.size());
    const auto more = host.allocate((3_MiB).count);  // the child may go on
    if (more) std::memset(more->data(), 3, more->size());
    _exit(more ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto* bytes = static_cast<const unsigned char*>(block.data());
  EXPECT_EQ(std::count(bytes, bytes + block.size(), 1), static_cast<std::ptrdiff_t>(block.size()));
}

// The line VmFlags of the mapping that holds the address.
std::string flags_of(const void* pointer) {
  std::ifstream file("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  std::string line;
  bool here = false;
  while (std::getline(file, line)) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) here = begin <= address && address < end;
    if (here && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST(Pageable, HugePagesAreAskedFor) {
  Options options;
  options.host_huge_pages = true;
  Allocator host = *open_host(options);
  EXPECT_NE(host.stats().device.find("huge pages"), std::string::npos);
  const auto block = *host.allocate((8_MiB).count);
  EXPECT_EQ(block.address().value % (2_MiB).count, 0u);
  const std::string flags = flags_of(block.data());
  if (flags.empty()) GTEST_SKIP() << "the kernel does not show the flags of mappings";
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) GTEST_SKIP() << "no huge pages here";
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  Allocator plain = *open_host();
  const auto other = *plain.allocate((8_MiB).count);
  EXPECT_EQ(flags_of(other.data()).find(" hg "), std::string::npos);
}

int policy_of(const void* pointer) {
  int policy = -1;
  const long done = syscall(SYS_get_mempolicy, &policy, nullptr, 0, pointer, MPOL_F_ADDR);
  return done == 0 ? policy : -1;
}

TEST(Pageable, PagesAreSpreadOverTheNodes) {
  if (memory_nodes().empty()) GTEST_SKIP() << "the kernel names no memory nodes";
  Options options;
  options.host_numa = HostNuma::interleave;
  Allocator host = *open_host(options);
  const auto block = *host.allocate((8_MiB).count);
  Allocator plain = *open_host();
  const auto other = *plain.allocate((8_MiB).count);
  if (policy_of(other.data()) != MPOL_DEFAULT) GTEST_SKIP() << "the kernel does not tell this process of policies";
  const DriverStatus may = interleave({block.address().value}, 8_MiB, memory_nodes());
  if (!may) GTEST_SKIP() << "this process may not set policies: errno " << may.native;
  EXPECT_EQ(policy_of(block.data()), MPOL_INTERLEAVE);
  const auto second = *host.allocate((40_MiB).count);
  EXPECT_EQ(policy_of(second.data()), MPOL_INTERLEAVE) << "by the driver alone";
}

TEST(NodeList, IsReadAsTheKernelWritesIt) {
  using Nodes = std::vector<unsigned>;
  EXPECT_EQ(parse_node_list("0"), Nodes({0}));
  EXPECT_EQ(parse_node_list("0-3"), Nodes({0, 1, 2, 3}));
  EXPECT_EQ(parse_node_list("0,2-3,1023"), Nodes({0, 2, 3, 1023}));
  for (const char* bad : {"", "x", "3-1", "0-", "-1", "0,", "1024", "0-4000000000", "0 1", "99999999999999999999"}) {
    EXPECT_EQ(parse_node_list(bad), Nodes{}) << bad;
  }
}

TEST(Pageable, AnEmptyBlockMayBeUsedOnAnyStream) {
  Allocator host = *open_host();
  int stream = 0;
  auto empty = *host.allocate(0);
  empty.used_on(host.stream(&stream));
  Allocation never;
  never.used_on(host.stream(&stream));
  EXPECT_EQ(host.ledger().live_blocks, 0u);
}

}  // namespace
}  // namespace quarry::test
