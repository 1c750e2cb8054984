// Differences that are accepted: listed, not counted as failures.
//
// One a line: `FILE CASE STEP KEY` and then free text. FILE is the file's name without folder and endings, STEP the
// number of the operation from 0, `N+` for it and all that follow, or `load` for what comes before the first. KEY `*`
// is every key but `validate`: where the recorded answers are of no use, the identities still hold. `#` starts a
// comment.
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
  bool onwards = false;  // `step` and all that follow

  bool covers(std::optional<std::size_t> at, std::string_view what) const {
    const bool here = onwards ? at && *at >= *step : at == step;
    return here && (key == what || (key == "*" && what != "validate"));
  }
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
