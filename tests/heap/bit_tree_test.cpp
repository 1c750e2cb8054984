#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include <quarry/allocator/heap/bit_tree.h>

namespace quarry {
namespace {

using Numbers = std::set<std::size_t>;

std::size_t at_or_after(const Numbers& numbers, std::size_t i) {
  const auto found = numbers.lower_bound(i);
  return found == numbers.end() ? BitTree::kNone : *found;
}

std::size_t at_or_before(const Numbers& numbers, std::size_t i) {
  const auto after = numbers.upper_bound(i);
  return after == numbers.begin() ? BitTree::kNone : *std::prev(after);
}

// Both questions and membership at `i`.
void expect_same(const BitTree& tree, const Numbers& numbers, std::size_t i) {
  EXPECT_EQ(tree.at_or_after(i), at_or_after(numbers, i)) << i;
  EXPECT_EQ(tree.at_or_before(i), at_or_before(numbers, i)) << i;
  EXPECT_EQ(tree.test(i), numbers.contains(i)) << i;
}

class BitTreeSizes : public testing::TestWithParam<std::size_t> {};

// One word, both sides of a level's end, four levels.
INSTANTIATE_TEST_SUITE_P(Levels, BitTreeSizes, testing::Values(1, 2, 63, 64, 65, 4095, 4096, 4097, 262144, 262145));

TEST_P(BitTreeSizes, AnswersAsASetDoes) {
  const std::size_t size = GetParam();
  std::mt19937_64 random(size);
  const auto some = [&](std::size_t below) { return random() % below; };
  BitTree tree(size);
  Numbers numbers;
  for (int round = 0; round < 3000; ++round) {
    // Now many, now few, and often next to each other, so that words fill up and run empty.
    const std::size_t near = numbers.empty() ? some(size) : (*numbers.rbegin() + some(3)) % size;
    const std::size_t i = some(4) == 0 ? near : some(size);
    if (some(1000) < (round / 300 % 2 == 0 ? 700u : 300u)) {
      tree.set(i);
      numbers.insert(i);
    } else {
      tree.clear(i);
      numbers.erase(i);
    }
    expect_same(tree, numbers, i);
    expect_same(tree, numbers, some(size));
  }
  for (const std::size_t i : Numbers{0, size / 2, size - 1}) expect_same(tree, numbers, i);
}

TEST_P(BitTreeSizes, RangesAreAsTheirMembersOneByOne) {
  const std::size_t size = GetParam();
  std::mt19937_64 random(size + 1);
  BitTree tree(size);
  Numbers numbers;
  for (int round = 0; round < 400; ++round) {
    const std::size_t begin = random() % (size + 1);
    const std::size_t end = std::min(size, begin + random() % (round % 4 == 0 ? 1000 : 70));
    const bool sets = random() % 2 == 0;
    sets ? tree.set_range(begin, end) : tree.clear_range(begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      if (sets)
        numbers.insert(i);
      else
        numbers.erase(i);
    }
    for (const std::size_t i : {begin, end, begin - 1, random() % size}) {
      if (i < size) expect_same(tree, numbers, i);
    }
  }
  tree.set_range(0, size);
  EXPECT_EQ(tree.at_or_before(size - 1), size - 1);
  tree.clear_range(0, size);
  EXPECT_EQ(tree.at_or_after(0), BitTree::kNone);
}

TEST(BitTree, GrowingKeepsItsMembers) {
  BitTree tree(1);
  Numbers numbers;
  std::mt19937_64 random(7);
  for (std::size_t size = 1; size < 300'000; size = size * 3 / 2 + 1) {
    tree.resize(size);
    for (int i = 0; i < 4; ++i) {
      const std::size_t number = random() % size;
      tree.set(number);
      numbers.insert(number);
    }
    for (int i = 0; i < 20; ++i) expect_same(tree, numbers, random() % size);
  }
  tree.resize(10);  // never shrinks
  expect_same(tree, numbers, *numbers.rbegin());
}

TEST(BitTree, AnEmptyOneHasNoNeighbours) {
  const BitTree tree(100'000);
  for (const std::size_t i : {0u, 1u, 63u, 64u, 99'999u}) {
    EXPECT_EQ(tree.at_or_after(i), BitTree::kNone);
    EXPECT_EQ(tree.at_or_before(i), BitTree::kNone);
  }
}

}  // namespace
}  // namespace quarry
