// A text table with aligned columns, for people.
#pragma once

#include <string>
#include <vector>

namespace quarry::tools {

enum class Align : unsigned char { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // Header, rule and rows, one line each; columns are as wide as their widest cell.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` fit for a terminal: control characters, which a stranger's file may hold, become `?`.
std::string for_terminal(std::string text);

}  // namespace quarry::tools
