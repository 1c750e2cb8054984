// Reading and writing the pieces of an option string: entries, numbers, quoted values. Internal to the option table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/allocator/result.h>

namespace quarry::option_text {

std::string_view trim(std::string_view text);

// The value as an error message shows it: in quotes, on one line, cut when it is long.
std::string quoted(std::string_view text);

// The whole text is a number, without sign or junk; nullopt otherwise or when it leaves the type.
std::optional<std::uint64_t> whole_number(std::string_view text);
// The same for a finite decimal number; a minus sign is read.
std::optional<double> real_number(std::string_view text);
// The shortest text that real_number reads back as the same value.
std::string real_text(double value);

// Parts between commas that stand outside of brackets, trimmed. Text without any character but white space has no part.
std::vector<std::string_view> split_at_commas(std::string_view text);

// `key:value`, both trimmed and not empty; the value may hold further colons. Views into the text.
struct Entry {
  std::string_view key;
  std::string_view value;
};
std::optional<Entry> split_entry(std::string_view text);

// The entries of `[a:b,c:d]`, at least one; nullopt when the text is no such list.
std::optional<std::vector<Entry>> list_entries(std::string_view text);

// Single-character edits (insert, delete, replace) between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace quarry::option_text
