// Packing problems as CSV: `id,lower,upper,size`, one buffer a line, other columns skipped.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <quarry/stats/formats/byte_source.h>
#include <quarry/stats/packing.h>

namespace quarry::stats::formats {

class PackingReader {
 public:
  explicit PackingReader(ByteSource& source) : source_(source) {}

  // False with source.failure() set.
  bool read();
  PackingProblem& problem() { return problem_; }

 private:
  enum class Column : std::uint8_t { id, lower, upper, size, other };

  struct Line {
    std::string_view text;     // without the line end
    std::uint64_t offset = 0;  // of its first byte
  };

  bool next_line(Line& line);  // false at the end of the file and on failure
  bool read_header();
  bool read_row(const Line& line);
  bool take_field(std::string_view field, std::uint64_t offset, Column column, PackingBuffer& into);
  bool fail_at(std::uint64_t offset, std::string_view what);
  void sort_by_id();

  ByteSource& source_;
  PackingProblem problem_;
  std::vector<Column> columns_;
  std::uint64_t rows_ = 0;
  std::uint64_t total_ = 0;
  bool numbered_ = false;  // every id so far is a whole number
};

}  // namespace quarry::stats::formats
