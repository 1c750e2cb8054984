// Small text helpers of the case reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/result.h>

namespace quarry::tools {

// The whole of `text` as a decimal number without sign.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

std::string_view trim(std::string_view text);

// The words between blanks.
std::vector<std::string_view> split_words(std::string_view text);

// Text of a file fit for one line of a message: short, unprintable bytes as `?`.
std::string printable(std::string_view text);
// The same in quotes.
std::string quoted(std::string_view text);

// File name without folder and endings: "a/rounding.json.gz" -> "rounding".
std::string file_stem(std::string_view path);

Error invalid(std::string message);

}  // namespace quarry::tools
