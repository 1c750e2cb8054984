// Integer arithmetic in loop variables: `{2*(i+1)}`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quarry/allocator/result.h>

namespace quarry::tools {

// Loop variables, innermost last.
using Variables = std::vector<std::pair<std::string, std::int64_t>>;

// + - * / % and parentheses over 64-bit integers. Division truncates. Overflow and division by zero are errors.
Result<std::int64_t> evaluate(std::string_view expression, const Variables& variables);

// `text` with every `{expression}` replaced by its value.
Result<std::string> substitute(std::string_view text, const Variables& variables);

}  // namespace quarry::tools
