// The policies that compare mode knows, by their keys on the command line.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <quarry/allocator/options.h>

namespace quarry::tools {

enum class PolicyKind : std::uint8_t {
  allocator,   // our allocator with options
  exact_size,  // peers/exact_size_cache.h
  bins,        // peers/bin_cache.h
  packed,      // offline: the best contiguous packing that greedy orders find in a few seconds (pack.h)
  bound        // peak requested: no policy reserves less
};

struct PolicyEntry {
  std::string_view key;
  PolicyKind kind;
  // From the options of the recording, with what the caller has set over them. Null for all kinds but `allocator`.
  Options (*options)(Options base);
  std::string_view summary;
};

// In the order of the documents; a run with equal results comes before those of later entries.
std::span<const PolicyEntry> policy_table();

// Null for an unknown key.
const PolicyEntry* find_policy(std::string_view key);

// `all`, or keys with commas between them; a key named twice counts once. The error names the unknown key.
Result<std::vector<const PolicyEntry*>> parse_policies(std::string_view list);

}  // namespace quarry::tools
