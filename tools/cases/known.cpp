#include "tools/cases/known.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/cases/text.h"

#include <quarry/stats/read.h>

namespace quarry::tools {
namespace {

constexpr std::uint64_t kMaxFile = 1u << 20;

Result<KnownDifference> parse_line(std::string_view text, std::size_t line) {
  const auto words = split_words(text);
  if (words.size() < 4) return invalid("a known difference is FILE CASE STEP KEY and a comment");
  const bool onwards = words[2].ends_with('+');
  const auto step = parse_unsigned(words[2].substr(0, words[2].size() - (onwards ? 1 : 0)));
  if (!step && words[2] != "load")
    return invalid(fmt::format("{} is not the number of a step, or load", quoted(words[2])));
  KnownDifference difference{
      std::string(words[0]), std::string(words[1]), std::nullopt, std::string(words[3]), line, onwards};
  if (step) difference.step = *step;
  return difference;
}

}  // namespace

bool KnownDifferences::contains(std::string_view file, std::string_view name, std::optional<std::size_t> step,
                                std::string_view key) const {
  return std::ranges::any_of(entries_, [&](const KnownDifference& entry) {
    return entry.file == file && entry.name == name && entry.covers(step, key);
  });
}

Result<KnownDifferences> parse_known(std::string_view text, const std::string& file) {
  std::vector<KnownDifference> entries;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty() || content.starts_with('#')) continue;
    auto entry = parse_line(content, line);
    if (!entry) return invalid(fmt::format("{}: line {}: {}", file, line, entry.error().message));
    entries.push_back(*std::move(entry));
  }
  return KnownDifferences(std::move(entries));
}

Result<KnownDifferences> read_known(const std::string& path) {
  const auto text = stats::read_text(path, kMaxFile);
  if (!text) return text.error();
  return parse_known(*text, path);
}

}  // namespace quarry::tools
