#include "tools/cases/text.h"

#include <algorithm>
#include <utility>

namespace quarry::tools {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kPrintLimit = 48;

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kPrintLimit)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kPrintLimit ? "..." : "");
}

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

std::string file_stem(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return std::string(path.substr(0, path.find('.', 1)));
}

Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message)}; }

}  // namespace quarry::tools
