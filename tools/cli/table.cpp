#include "tools/cli/table.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace quarry::tools {
namespace {

constexpr std::size_t kGap = 2;

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  if (!line.empty()) line.append(kGap, ' ');
  if (align == Align::right) {
    fmt::format_to(std::back_inserter(line), "{:>{}}", cell, width);
  } else {
    fmt::format_to(std::back_inserter(line), "{:<{}}", cell, width);
  }
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.title.size());
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  const auto add = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) append_cell(line, cell_of(i), widths[i], columns_[i].align);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  text.append(std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kGap), '-');
  text += '\n';
  for (const auto& cells : rows_) add([&](std::size_t i) -> const std::string& { return cells[i]; });
  return text;
}

std::string for_terminal(std::string text) {
  const auto control = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; };
  std::ranges::replace_if(text, control, '?');
  return text;
}

}  // namespace quarry::tools
