// Exit codes of the command line (DESIGN.md section 10).
#pragma once

#include <array>

namespace quarry::tools {

inline constexpr int kExitDone = 0;
inline constexpr int kExitMismatch = 1;  // a gate fails, an address or an answer differs
inline constexpr int kExitUsage = 2;     // or it cannot run
inline constexpr int kExitBadInput = 3;
inline constexpr int kExitIncomplete = 4;  // incomplete or inconsistent input

// The code of two results together: bad input counts most, then what cannot run, a mismatch, incomplete input.
inline int worse_exit(int a, int b) {
  constexpr std::array kOrder = {kExitBadInput, kExitUsage, kExitMismatch, kExitIncomplete};
  for (const int code : kOrder) {
    if (a == code || b == code) return code;
  }
  return kExitDone;
}

}  // namespace quarry::tools
