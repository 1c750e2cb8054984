// Differences that are accepted: listed, not counted as failures.
//
// One a line: `FILE CASE STEP KEY` and then free text. FILE is the file's name without folder and endings, STEP the
// number of the operation from 0, or `load` for what comes before it. `#` starts a comment line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/result.h>

namespace quarry::tools {

struct KnownDifference {
  std::string file;
  std::string name;
  std::optional<std::size_t> step;  // empty = load
  std::string key;
  std::size_t line = 0;
};

class KnownDifferences {
 public:
  KnownDifferences() = default;
  explicit KnownDifferences(std::vector<KnownDifference> entries) : entries_(std::move(entries)) {}

  bool contains(std::string_view file, std::string_view name, std::optional<std::size_t> step,
                std::string_view key) const;
  const std::vector<KnownDifference>& entries() const { return entries_; }

 private:
  std::vector<KnownDifference> entries_;
};

Result<KnownDifferences> read_known(const std::string& path);
Result<KnownDifferences> parse_known(std::string_view text, const std::string& file);

}  // namespace quarry::tools
