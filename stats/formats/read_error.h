// The one shape of a reader's error: `FILE: at byte N: rule`, one line, safe to print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <quarry/allocator/result.h>

namespace quarry::stats::formats {

// Why reading stopped. `offset` counts unpacked bytes. The first failure stays.
struct Failure {
  bool set = false;
  std::uint64_t offset = 0;
  std::string rule;

  // Always false, so that a parser can `return failure.at(...)`.
  bool at(std::uint64_t where, std::string why) {
    if (!set) {
      set = true;
      offset = where;
      rule = std::move(why);
    }
    return false;
  }
};

// Text from a file or a command line without control characters, cut at `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 200);

Error read_error(std::string_view path, const Failure& failure);

}  // namespace quarry::stats::formats
