// Runs a program for the paged policy on the simulated device and judges it after every step: validate(), the
// identities, hazards, and what the policy promises. The programs keep the rules of allocator.h, so every breach is the
// allocator's fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "support/paged_program.h"

namespace quarry::paged {

struct Breach {
  std::size_t operations = 0;  // the first so many do it
  std::string what;
};

// How often a program did what it was meant to do.
struct Coverage {
  std::uint64_t served = 0;
  std::uint64_t refused = 0;
  std::uint64_t growths = 0;
  std::uint64_t stitched = 0;  // blocks of several pieces
  std::uint64_t alias_maps = 0;
  std::uint64_t alias_reuses = 0;  // stitched without a map
  std::uint64_t handed_over = 0;   // blocks in bytes that another stream used last
  std::uint64_t stream_waits = 0;
  std::uint64_t pool_requests = 0;
  std::uint64_t releases = 0;  // of cached pages
};

std::optional<Breach> run(const Program& program, Coverage& coverage);

// The program made as small as it goes, as a script, and what it does.
std::string explain(const Program& program);

}  // namespace quarry::paged
