#include <fmt/format.h>

#include "tools/cases/case.h"
#include "tools/cases/text.h"

#include <quarry/stats/read.h>

namespace quarry::tools {
namespace {

constexpr std::uint64_t kMaxFile = 16u << 20;  // bytes, unpacked; the largest recorded file has 1.2 MB

}  // namespace

Result<std::vector<Case>> read_cases(const std::string& path) {
  auto text = stats::read_text(path, kMaxFile);
  if (!text) return text.error();
  if (trim(*text).starts_with('{')) return parse_recording(*text, path);
  auto script = parse_script(*text, path);
  if (!script) return script.error();
  std::vector<Case> cases;
  cases.push_back(*std::move(script));
  return cases;
}

}  // namespace quarry::tools
