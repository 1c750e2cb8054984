// The `.ops` front end: comments, `cap` and `config` at the top, `for` loops written out.
#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "tools/cases/case.h"
#include "tools/cases/expression.h"
#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

// Together they keep a hostile script inside 64 MiB and a second.
constexpr std::size_t kMaxSteps = 200'000;
constexpr std::size_t kMaxText = 8u << 20;  // bytes read while loops are written out, and written
constexpr std::size_t kMaxLoops = 4;        // in one another

class ScriptReader {
 public:
  Result<Case> read(std::string_view text, const std::string& file) {
    case_.file = case_.name = file_stem(file);
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line_ = line;
      const std::string_view content = text.substr(0, end);
      const Status done = read_line(trim(content.substr(0, content.find('#'))));
      if (!done) return invalid(fmt::format("{}: line {}: {}", file, line, done.error().message));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (case_.steps.empty()) return invalid(fmt::format("{}: line 1: a case needs at least one operation", file));
    return std::move(case_);
  }

 private:
  Status read_line(std::string_view line) {
    if (line.empty()) return Done{};
    if (is_word(line, "config")) return read_config(trim(line.substr(6)));
    if (is_word(line, "for")) return expand(line);
    return add_step(line);
  }

  static bool is_word(std::string_view text, std::string_view word) {
    return text.starts_with(word) &&
           (text.size() == word.size() || text[word.size()] == ' ' || text[word.size()] == '\t');
  }

  Status read_config(std::string_view text) {
    if (!case_.steps.empty()) return invalid("config must stand before the first operation");
    if (text.empty()) return invalid("config needs a string (- for the empty one)");
    case_.config = text == "-" ? std::string() : std::string(text);
    return Done{};
  }

  // One operation or loop; inside a loop, operations separated by `;`, where a loop takes all that follows it.
  Status expand(std::string_view body) {
    while (true) {
      body = trim(body);
      if (is_word(body, "for")) return expand_loop(body);
      const std::size_t end = std::min(body.find(';'), body.size());
      if (const Status done = add_step(body.substr(0, end)); !done) return done;
      if (end == body.size()) return Done{};
      body.remove_prefix(end + 1);
    }
  }

  // `for NAME in FIRST..LAST: body`
  Status expand_loop(std::string_view loop) {
    if (variables_.size() == kMaxLoops) return invalid(fmt::format("more than {} loops in one another", kMaxLoops));
    const std::size_t colon = loop.find(':');
    const std::string_view head = loop.substr(0, colon);
    if (const Status room = count_text(head.size()); !room) return room;
    const auto words = split_words(head);
    const std::size_t dots = head.find("..");
    if (colon == std::string_view::npos || dots == std::string_view::npos || words.size() < 4 || words[2] != "in") {
      return invalid("a loop is written `for NAME in FIRST..LAST: operation ; operation`");
    }
    if (!is_name(words[1])) return invalid(fmt::format("{} is not a name of a loop variable", quoted(words[1])));
    const auto before_first = static_cast<std::size_t>(words[2].end() - head.begin());
    if (dots < before_first) return invalid("a loop needs FIRST..LAST after the word in");
    const auto first = bound(trim(head.substr(before_first, dots - before_first)));
    if (!first) return first.error();
    const auto last = bound(trim(head.substr(dots + 2)));
    if (!last) return last.error();
    if (*first > *last) return invalid("the first value of a loop is above the last");
    variables_.emplace_back(words[1], *first);
    for (std::int64_t value = *first;; ++value) {
      variables_.back().second = value;
      if (const Status done = expand(loop.substr(colon + 1)); !done) return done;
      if (value == *last) break;
    }
    variables_.pop_back();
    return Done{};
  }

  static bool is_name(std::string_view word) {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return is_letter(word.front()) &&
           std::ranges::all_of(word, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  }

  Result<std::int64_t> bound(std::string_view text) const {
    if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
    return evaluate(text, variables_);
  }

  Status add_step(std::string_view text) {
    if (const Status room = count_text(text.size()); !room) return room;
    auto written_out = substitute(trim(text), variables_);
    if (!written_out) return written_out.error();
    if (const Status room = count_text(written_out->size()); !room) return room;
    auto operation = parse_operation(*written_out);
    if (!operation) return operation.error();
    if (const Status fits = check_context(*operation); !fits) return fits;
    if (const auto* cap = std::get_if<op::SetCapacity>(&*operation)) {
      capped_ = true;
      if (case_.steps.empty() && variables_.empty()) {
        case_.capacity = cap->capacity;
        return Done{};
      }
    }
    case_.steps.push_back({*std::move(operation), *std::move(written_out), line_, nullptr});
    return Done{};
  }

  Status count_text(std::size_t bytes) {
    text_bytes_ += bytes;
    if (case_.steps.size() < kMaxSteps && text_bytes_ <= kMaxText) return Done{};
    return invalid(fmt::format("more than {} operations, or more than {} bytes of them", kMaxSteps, kMaxText));
  }

  // What an operation needs to have before it.
  Status check_context(const Operation& operation) {
    if (std::holds_alternative<op::Alloc>(operation) || std::holds_alternative<op::Allocate>(operation)) {
      allocated_ = true;
    }
    const auto* expect = std::get_if<op::Expect>(&operation);
    if (!expect) return Done{};
    if (expect->ok && !allocated_)
      return invalid("ok and oom are about the last alloc; there is none before this line");
    for (const auto& [key, value] : expect->values) {
      if (key == op::ExpectKey::device_free && !capped_) return invalid("device_free needs a cap");
    }
    return Done{};
  }

  Case case_;
  Variables variables_;
  std::size_t line_ = 0;
  std::size_t text_bytes_ = 0;
  bool capped_ = false;
  bool allocated_ = false;
};

}  // namespace

Result<Case> parse_script(std::string_view text, const std::string& file) { return ScriptReader().read(text, file); }

}  // namespace quarry::tools
