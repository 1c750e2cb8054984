#include "tools/cases/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <ranges>

#include <fmt/format.h>

#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

constexpr int kMaxNesting = 32;  // of parentheses and signs: bounds the recursion

// Recursive descent; keeps the first broken rule and then returns zeros.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Variables& variables) : rest_(text), variables_(variables) {}

  Result<std::int64_t> run() {
    const std::int64_t value = sum();
    if (broken_.empty() && !skip_blanks().empty()) note(fmt::format("unexpected {}", quoted(rest_)));
    if (!broken_.empty()) return invalid(broken_);
    return value;
  }

 private:
  std::string_view skip_blanks() { return rest_ = trim(rest_); }

  bool take(char symbol) {
    if (!skip_blanks().starts_with(symbol)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::int64_t sum() {
    std::int64_t left = product();
    while (broken_.empty()) {
      if (take('+')) {
        left = apply('+', left, product());
      } else if (take('-')) {
        left = apply('-', left, product());
      } else {
        break;
      }
    }
    return left;
  }

  std::int64_t product() {
    std::int64_t left = factor();
    while (broken_.empty()) {
      const char symbol = skip_blanks().empty() ? '\0' : rest_.front();
      if (symbol != '*' && symbol != '/' && symbol != '%') break;
      rest_.remove_prefix(1);
      left = apply(symbol, left, factor());
    }
    return left;
  }

  std::int64_t factor() {
    if (++depth_ > kMaxNesting) return note("nested too deeply");
    std::int64_t value = 0;
    if (take('-')) {
      value = apply('-', 0, factor());
    } else if (take('(')) {
      value = sum();
      if (!take(')')) note("a ')' is missing");
    } else {
      value = atom();
    }
    --depth_;
    return value;
  }

  std::int64_t atom() {
    skip_blanks();
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const auto end = std::ranges::find_if_not(rest_, is_word);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    if (word.empty()) return note("a number or loop variable is missing");
    for (const auto& [name, value] : std::views::reverse(variables_)) {
      if (name == word) return value;
    }
    std::int64_t number = 0;
    const auto [last, code] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (code != std::errc{} || last != word.data() + word.size()) {
      return note(fmt::format("{} is neither a 64-bit number nor a loop variable", quoted(word)));
    }
    return number;
  }

  std::int64_t apply(char symbol, std::int64_t left, std::int64_t right) {
    std::int64_t out = 0;
    bool overflow = false;
    if (symbol == '+') overflow = __builtin_add_overflow(left, right, &out);
    if (symbol == '-') overflow = __builtin_sub_overflow(left, right, &out);
    if (symbol == '*') overflow = __builtin_mul_overflow(left, right, &out);
    if (symbol == '/' || symbol == '%') {
      if (!broken_.empty()) return 0;
      if (right == 0) return note("division by zero");
      overflow = left == std::numeric_limits<std::int64_t>::min() && right == -1;
      if (!overflow) out = symbol == '/' ? left / right : left % right;
    }
    return overflow ? note("the value leaves 64 bits") : out;
  }

  std::int64_t note(std::string rule) {
    if (broken_.empty()) broken_ = std::move(rule);
    return 0;
  }

  std::string_view rest_;
  const Variables& variables_;
  int depth_ = 0;
  std::string broken_;
};

}  // namespace

Result<std::int64_t> evaluate(std::string_view expression, const Variables& variables) {
  return Evaluator(expression, variables).run();
}

Result<std::string> substitute(std::string_view text, const Variables& variables) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return invalid("a '}' is missing");
    const auto value = evaluate(text.substr(open + 1, close - open - 1), variables);
    if (!value) return value.error();
    out += std::to_string(*value);
    text.remove_prefix(close + 1);
  }
}

}  // namespace quarry::tools
