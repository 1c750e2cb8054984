#include <quarry/stats/formats/detect.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace quarry::stats::formats {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// The string that begins after the quote at `at`, which is moved behind the closing quote. Escapes stay as they are.
std::string_view quoted(std::string_view text, std::size_t& at) {
  const std::size_t first = ++at;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  const std::size_t end = std::min(at, text.size());
  at = end + 1;
  return text.substr(first, end - first);
}

// The keys of the outermost objects of a JSON text that may end anywhere.
std::vector<std::string_view> outer_keys(std::string_view text, int depth_wanted) {
  std::vector<std::string_view> keys;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::string_view string = quoted(text, at);
      const std::size_t next = at < text.size() ? text.find_first_not_of(kSpace, at) : text.npos;
      if (depth == depth_wanted && next != text.npos && text[next] == ':') keys.push_back(string);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return keys;
}

bool any_of(const std::vector<std::string_view>& keys, std::initializer_list<std::string_view> wanted) {
  return std::find_first_of(keys.begin(), keys.end(), wanted.begin(), wanted.end()) != keys.end();
}

FileKind detect_object(std::string_view text) {
  const std::vector<std::string_view> keys = outer_keys(text, 1);
  if (any_of(keys, {"segments", "device_traces", "allocator_settings", "external_annotations", "host_segments"})) {
    return FileKind::pytorch_json;
  }
  if (any_of(keys, {"traceEvents", "schemaVersion", "deviceProperties"})) return FileKind::profiler_json;
  if (any_of(keys, {"cases"}) || (any_of(keys, {"schema"}) && any_of(keys, {"allocator"}))) return FileKind::case_json;
  return FileKind::unknown;
}

FileKind detect_array(std::string_view text) {
  const std::string_view inner = trim(text.substr(1));
  if (inner.starts_with(']')) return FileKind::pytorch_json;  // a list of no segments
  if (inner.starts_with('[')) {
    const std::string_view row = trim(inner.substr(1));
    const bool number = !row.empty() && (row[0] == '-' || (row[0] >= '0' && row[0] <= '9'));
    return number ? FileKind::memory_timeline : FileKind::unknown;
  }
  const std::vector<std::string_view> keys = outer_keys(text, 2);
  if (any_of(keys, {"blocks", "total_size"})) return FileKind::pytorch_json;
  if (any_of(keys, {"ph"})) return FileKind::profiler_json;
  return FileKind::unknown;
}

bool is_operation(std::string_view word) {
  static constexpr std::array<std::string_view, 32> kOperations = {
      "alloc",        "allocate",     "free",        "record",     "hold",       "complete",
      "unhold",       "sync",         "empty_cache", "empty_pool", "reset_peak", "reset_accumulated",
      "set_fraction", "get_fraction", "settings",    "current",    "checkpoint", "restore",
      "cap",          "context",      "fail",        "largest",    "base",       "check",
      "config",       "view",         "for",         "expect",     "halloc",     "hfree",
      "use",          "empty"};
  return std::find(kOperations.begin(), kOperations.end(), word) != kOperations.end() || word.starts_with("pool_") ||
         word.starts_with("capture_") || word.starts_with("expect@");
}

// A case script: every line but the last, which may be cut, begins with an operation or is a comment.
bool is_script(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    const bool last = end == text.npos;
    text = last ? std::string_view{} : text.substr(end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    const bool operation = is_operation(line.substr(0, line.find_first_of(" \t:")));
    if (!operation && !(last && any)) return false;
    any = true;
  }
  return any;
}

bool is_packing(std::string_view header) {
  std::vector<std::string_view> columns;
  for (std::size_t at = 0; at <= header.size();) {
    const std::size_t end = std::min(header.find(',', at), header.size());
    columns.push_back(trim(header.substr(at, end - at)));
    at = end + 1;
  }
  const auto has = [&](std::string_view column) { return any_of(columns, {column}); };
  return has("lower") && has("upper") && has("size");
}

FileKind detect_text(std::string_view text) {
  const std::string_view header = trim(text.substr(0, text.find('\n')));
  if (header.starts_with("Thread,Time,Action,Pointer,Size,Stream")) return FileKind::rmm_csv;
  if (header.starts_with("Event Type,Device ID,Address,Stream,Size")) return FileKind::rmm_csv;  // before 2020
  if (is_packing(header)) return FileKind::packing_csv;
  for (const std::string_view mark : {"BFCAllocator dump", "bfc_allocator.cc", "Bin (256):"}) {
    if (text.find(mark) != text.npos) return FileKind::bfc_log;
  }
  return is_script(text) ? FileKind::case_ops : FileKind::unknown;
}

}  // namespace

FileKind detect(std::string_view head) {
  if (head.starts_with('\x80')) return FileKind::pytorch_pickle;
  if (head.find('\0') != head.npos) return FileKind::unknown;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::string_view text = trim(head);
  if (text.starts_with('{')) return detect_object(text);
  if (text.starts_with('[')) return detect_array(text);
  return detect_text(text);
}

}  // namespace quarry::stats::formats
