#include "bench/compare/cases.h"

#include <filesystem>

#include <fmt/format.h>

namespace quarry::bench {
namespace {

constexpr std::size_t kPairs = 100;  // few enough for the list to stay in the first cache
constexpr std::uint32_t kDepth = 100;
constexpr std::uint32_t kCounts[] = {1'000, 10'000, 100'000};
constexpr std::uint64_t kLargestMib[] = {1, 4, 64, 1024};
// Of one device, stream and pool: inference that grows a cache, training, training with changing lengths.
constexpr const char* kTraces[] = {"kv_cache", "gpt2_bf16", "varlen"};

struct Size {
  const char* name;
  Bytes bytes;
};
constexpr Size kSmall{"512 B", {512}};
constexpr Size kMiddle{"1 MiB", {1 << 20}};
constexpr Size kLarge{"32 MiB", {32 << 20}};

void add_pairs(std::vector<Case>& cases) {
  for (const Size& size : {kSmall, kMiddle, kLarge}) {
    cases.push_back({fmt::format("hot pair {}", size.name), [=] { return hot_pair(size.bytes, kPairs); }});
  }
  for (const Size& size : {kSmall, kMiddle}) {
    cases.push_back({fmt::format("last in first out {} x {}", kDepth, size.name),
                     [=] { return last_in_first_out(size.bytes, kDepth); }});
  }
}

void add_random(std::vector<Case>& cases) {
  for (const std::uint64_t mib : kLargestMib) {
    for (const std::uint32_t count : kCounts) {
      cases.push_back(
          {fmt::format("random {} x {} MiB", count, mib), [=] { return random_allocations(count, Bytes{mib << 20}); }});
    }
  }
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_pairs(cases);
  add_random(cases);
  for (const char* name : kTraces) {
    cases.push_back(trace_case(fmt::format("{}/traces/{}.pickle.gz", QUARRY_TEST_DATA, name)));
  }
  return cases;
}

Case trace_case(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  return {"trace " + file.substr(0, file.find('.')), [path] { return trace_workload(path); }};
}

}  // namespace quarry::bench
