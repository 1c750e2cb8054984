// Seeded programs that go where the rules have edges: sizes around every limit, few bytes of device, changed options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/operation.h"
#include "support/shrink.h"

namespace quarry::oracle {

// The same seed gives the same operations on every machine (no std:: distribution is used).
class Generator {
 public:
  explicit Generator(std::uint64_t seed);

  // Ends with whatever is live at that point.
  Program program(std::size_t operations);

 private:
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  std::uint64_t pick(std::initializer_list<std::uint64_t> of) { return of.begin()[below(of.size())]; }

  Start start();
  Settings settings();
  Roundup roundup();
  std::uint64_t size();
  std::uint64_t fresh_size();
  Operation operation();
  Operation rare();
  Allocate allocate();
  Free free();

  std::mt19937_64 engine_;
  std::uint64_t max_split_ = kUnlimited.count;  // in force, as a size to aim at
  std::uint64_t rounding_ = 20ull << 20;        // max_non_split_rounding, likewise
  std::uint32_t streams_ = 1;
  std::uint64_t capacity_ = 0;
  std::size_t crowd_ = 0;  // live blocks to hover around
  std::uint32_t next_id_ = 0;
  std::vector<std::uint32_t> live_;  // asked for and not freed; some may have failed
  std::vector<std::uint64_t> sizes_;
};

}  // namespace quarry::oracle
