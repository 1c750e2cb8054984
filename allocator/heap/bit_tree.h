// A set of small numbers with O(1) neighbours: bits in words, and above them a bit for each word that is not empty, up
// to one word. Three or four words are read for any question. No lock: the heap's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry {

class BitTree {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit BitTree(std::size_t size = 0) { resize(size); }

  // Numbers below `size` may be set. Never shrinks.
  void resize(std::size_t size) {
    std::size_t words = (size + 63) / 64;
    for (std::size_t level = 0;; ++level, words = (words + 63) / 64) {
      if (levels_.size() == level) add_level();
      if (levels_[level].size() < words) levels_[level].resize(words);
      if (words <= 1 && level + 1 == levels_.size()) return;
    }
  }

  bool test(std::size_t i) const { return (levels_[0][i / 64] >> (i % 64) & 1) != 0; }

  void set(std::size_t i) {
    for (Level& level : levels_) {
      std::uint64_t& word = level[i / 64];
      const bool known = word != 0;
      word |= std::uint64_t{1} << (i % 64);
      if (known) return;
      i /= 64;
    }
  }

  void clear(std::size_t i) {
    for (Level& level : levels_) {
      std::uint64_t& word = level[i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0) return;
      i /= 64;
    }
  }

  // All of [begin, end), a word at a time.
  void set_range(std::size_t begin, std::size_t end) {
    for_words(begin, end, [&](std::size_t i, std::uint64_t mask) {
      std::uint64_t& word = levels_[0][i];
      const bool known = word != 0;
      word |= mask;
      if (!known) set_above(i);
    });
  }
  void clear_range(std::size_t begin, std::size_t end) {
    for_words(begin, end, [&](std::size_t i, std::uint64_t mask) {
      std::uint64_t& word = levels_[0][i];
      word &= ~mask;
      if (word == 0) clear_above(i);
    });
  }

  // The first member >= i, the last member <= i; kNone if there is none.
  std::size_t at_or_after(std::size_t i) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t word = i / 64;
      if (word >= levels_[level].size()) return kNone;
      const std::uint64_t rest = levels_[level][word] >> (i % 64);
      if (rest != 0) return lowest_below(level, i + static_cast<std::size_t>(std::countr_zero(rest)));
      i = word + 1;
    }
    return kNone;
  }
  std::size_t at_or_before(std::size_t i) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t word = i / 64;
      const std::uint64_t rest = levels_[level][word] << (63 - i % 64);
      if (rest != 0) return highest_below(level, i - static_cast<std::size_t>(std::countl_zero(rest)));
      if (word == 0) return kNone;
      i = word - 1;
    }
    return kNone;
  }

 private:
  using Level = std::vector<std::uint64_t>;

  template <class Visit>
  static void for_words(std::size_t begin, std::size_t end, Visit&& visit) {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    while (begin < end) {
      const std::size_t word = begin / 64;
      const std::size_t last = std::min(end, (word + 1) * 64);
      visit(word, kAll >> (64 - (last - begin)) << (begin % 64));
      begin = last;
    }
  }
  // Word i of the lowest level is not empty any more, or is now.
  void set_above(std::size_t i) {
    for (std::size_t level = 1; level < levels_.size(); ++level, i /= 64) {
      std::uint64_t& word = levels_[level][i / 64];
      const bool known = word != 0;
      word |= std::uint64_t{1} << (i % 64);
      if (known) return;
    }
  }
  void clear_above(std::size_t i) {
    for (std::size_t level = 1; level < levels_.size(); ++level, i /= 64) {
      std::uint64_t& word = levels_[level][i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0) return;
    }
  }

  // A new top level that knows which words of the old one are not empty.
  void add_level() {
    levels_.emplace_back();
    if (levels_.size() == 1) return;
    const Level& below = levels_[levels_.size() - 2];
    Level& top = levels_.back();
    top.resize((below.size() + 63) / 64);
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (below[i] != 0) top[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }

  std::size_t lowest_below(std::size_t level, std::size_t i) const {
    while (level-- > 0) i = i * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][i]));
    return i;
  }
  std::size_t highest_below(std::size_t level, std::size_t i) const {
    while (level-- > 0) i = i * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][i]));
    return i;
  }

  std::vector<Level> levels_;
};

}  // namespace quarry
