#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include <quarry/allocator/heap/page_aliases.h>

namespace quarry {
namespace {

using namespace literals;

constexpr Bytes kPageSize = 2_MiB;
constexpr Units kPage = kPageSize.count / kUnit;

constexpr Address at(std::uint64_t gib) { return {gib << 30}; }

std::vector<Address> idle_of(const PageAliases& aliases) {
  std::vector<Address> bases;
  aliases.for_idle([&](const Alias& alias) {
    bases.push_back(alias.base);
    return true;
  });
  return bases;
}

TEST(PageAliases, AreFoundByTheExactSequenceOfTheirPages) {
  PageAliases aliases;
  Alias& alias = aliases.add(at(1), {3, 1, 4});
  EXPECT_EQ(aliases.wake({3, 1, 4}), nullptr) << "a live one is not for others";
  aliases.put_to_sleep(alias);
  EXPECT_TRUE(aliases.has_idle({3, 1, 4}));
  for (const PageSequence& other : {PageSequence{3, 1}, {1, 3, 4}, {3, 1, 4, 5}, {}}) {
    EXPECT_FALSE(aliases.has_idle(other));
    EXPECT_EQ(aliases.wake(other), nullptr);
  }
  EXPECT_EQ(aliases.wake({3, 1, 4}), &alias);
  EXPECT_FALSE(alias.idle);
  EXPECT_EQ(aliases.idle(), 0u);
  EXPECT_EQ(aliases.wake({3, 1, 4}), nullptr);
}

TEST(PageAliases, TwoOfTheSamePagesServeTwice) {
  PageAliases aliases;
  Alias& first = aliases.add(at(1), {7, 8});
  Alias& second = aliases.add(at(2), {7, 8});
  aliases.put_to_sleep(first);
  aliases.put_to_sleep(second);
  Alias* woken = aliases.wake({7, 8});
  Alias* other = aliases.wake({7, 8});
  ASSERT_NE(woken, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(woken, other);
}

// A block may begin inside the first page; only its own address names it, and only while it lives.
TEST(PageAliases, ALiveOneIsFoundByTheAddressOfItsBlock) {
  PageAliases aliases;
  const Address base = at(1);
  Alias& alias = aliases.add(base, {0, 1});
  alias.begin = 100;
  alias.size = kPage;
  EXPECT_EQ(aliases.containing(base + Bytes{100 * kUnit}), &alias);
  for (const Address wrong : {base, base + Bytes{99 * kUnit}, base + Bytes{101 * kUnit}, base - 512_B, Address{512}}) {
    EXPECT_EQ(aliases.containing(wrong), nullptr);
  }
  aliases.put_to_sleep(alias);
  EXPECT_EQ(aliases.containing(base + Bytes{100 * kUnit}), nullptr);
}

TEST(PageAliases, TheLongestIdleComesFirst) {
  PageAliases aliases;
  std::vector<Alias*> made;
  for (PageNumber i = 0; i < 4; ++i) made.push_back(&aliases.add(at(i + 1), {i, i + 1}));
  for (const std::size_t i : {2u, 0u, 3u, 1u}) aliases.put_to_sleep(*made[i]);
  EXPECT_EQ(idle_of(aliases), (std::vector{made[2]->base, made[0]->base, made[3]->base, made[1]->base}));
  ASSERT_NE(aliases.wake({0, 1}), nullptr);
  aliases.put_to_sleep(*made[0]);
  EXPECT_EQ(idle_of(aliases), (std::vector{made[2]->base, made[3]->base, made[1]->base, made[0]->base}));
}

// As the heap unmaps: out of the index, the lock is dropped, and then either gone or back.
TEST(PageAliases, AClaimedOneServesNobodyUntilItIsPutBack) {
  PageAliases aliases;
  Alias& alias = aliases.add(at(1), {5});
  aliases.put_to_sleep(alias);
  aliases.claim(alias);
  EXPECT_FALSE(aliases.has_idle({5}));
  EXPECT_EQ(aliases.idle(), 0u);
  EXPECT_EQ(aliases.count(), 1u);
  aliases.put_to_sleep(alias);
  EXPECT_TRUE(aliases.has_idle({5}));
  aliases.claim(alias);
  aliases.erase(alias);
  EXPECT_EQ(aliases.count(), 0u);
  EXPECT_EQ(aliases.pages(), 0u);
  EXPECT_FALSE(aliases.has_idle({5}));
}

// Counts and searches against a map, over programs of few pages, so that sequences come again.
TEST(PageAliases, CountWhatIsThere) {
  PageAliases aliases;
  std::map<Alias*, bool> idle;
  std::mt19937_64 random(3);
  std::uint64_t next = 1;
  for (int step = 0; step < 4000; ++step) {
    PageSequence pages(1 + random() % 3);
    for (PageNumber& page : pages) page = static_cast<PageNumber>(random() % 3);
    if (Alias* woken = aliases.wake(pages); woken != nullptr) {
      ASSERT_TRUE(idle.at(woken));
      ASSERT_EQ(woken->pages, pages);
      idle[woken] = false;
    } else {
      for (const auto& [alias, asleep] : idle) ASSERT_FALSE(asleep && alias->pages == pages) << "not found";
      idle[&aliases.add(at(next++), pages)] = false;
    }
    auto& [some, asleep] = *std::next(idle.begin(), static_cast<std::ptrdiff_t>(random() % idle.size()));
    if (!asleep) {
      aliases.put_to_sleep(*some);
      asleep = true;
    } else if (random() % 4 == 0) {
      aliases.claim(*some);
      aliases.erase(*some);
      idle.erase(some);
    }
    std::size_t pages_there = 0;
    std::size_t sleepers = 0;
    for (const auto& [alias, sleeps] : idle) {
      pages_there += alias->pages.size();
      sleepers += sleeps ? 1 : 0;
    }
    ASSERT_EQ(aliases.count(), idle.size());
    ASSERT_EQ(aliases.pages(), pages_there);
    ASSERT_EQ(aliases.idle(), sleepers);
    ASSERT_EQ(idle_of(aliases).size(), sleepers);
  }
}

}  // namespace
}  // namespace quarry
