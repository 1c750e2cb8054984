// What every driver's Mapping must do. For the list of drivers see driver_contract.h.
#pragma once

#include <array>
#include <map>
#include <thread>
#include <vector>

#include "support/contract_driver.h"

namespace quarry::contract {

class MappingContract : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    if (driver_->mapping() == nullptr) GTEST_SKIP() << "no mapping";
    page_ = memory().capabilities().page_size;
  }

  Mapping& mapping() { return *driver_->mapping(); }

  Address reserve(Bytes size) {
    const DriverResult<Address> got = mapping().reserve(size);
    EXPECT_EQ(got.status.code, DriverCode::ok) << size.count << " bytes";
    return got.value;
  }
  PageHandle create(Bytes size) {
    const DriverResult<PageHandle> got = mapping().create_page(size, {});
    EXPECT_EQ(got.status.code, DriverCode::ok) << size.count << " bytes";
    return got.value;
  }
  std::vector<PageHandle> create(std::size_t count) {
    std::vector<PageHandle> pages;
    for (std::size_t i = 0; i < count; ++i) pages.push_back(create(page_));
    return pages;
  }
  DriverCode map(Address base, const std::vector<PageHandle>& pages) {
    return mapping().map(base, page_, pages.data(), pages.size()).code;
  }
  DriverCode map(Address base, PageHandle page, Bytes page_size) {
    return mapping().map(base, page_size, &page, 1).code;
  }
  DriverCode unmap(Address base, Bytes size) { return mapping().unmap(base, size).code; }
  DriverCode unreserve(Address base, Bytes size) { return mapping().unreserve(base, size).code; }
  // True also where the bytes cannot be read.
  bool keeps(Address at, Bytes size, int value) { return !readable() || holds(at, size, value); }
  void destroy(const std::vector<PageHandle>& pages) {
    for (const PageHandle page : pages) EXPECT_TRUE(mapping().destroy_page(page));
  }

  Bytes page_;
};

TEST_P(MappingContract, ReservationsArePageAlignedAndDoNotMeet) {
  std::map<Address, Bytes> live;
  for (const std::uint64_t pages : {1, 7, 32, 2})
    EXPECT_TRUE(live.emplace(reserve(page_ * pages), page_ * pages).second);
  Address end;
  for (const auto& [at, size] : live) {
    EXPECT_EQ(at.value % page_.count, 0u);
    EXPECT_GE(at, end);
    end = at + size;
  }
  for (const auto& [at, size] : live) EXPECT_EQ(unreserve(at, size), DriverCode::ok);
}

TEST_P(MappingContract, SizesAreWholePages) {
  for (const Bytes size : {Bytes{}, Bytes{1}, page_ - Bytes{1}, page_ + Bytes{512}, page_ * 5 + page_ - Bytes{512}}) {
    EXPECT_EQ(mapping().reserve(size).status.code, DriverCode::invalid) << size.count;
    EXPECT_EQ(mapping().create_page(size, {}).status.code, DriverCode::invalid) << size.count;
  }
}

TEST_P(MappingContract, PagesOfAnyWholeSizeAreMapped) {
  const Address at = reserve(page_ * 16);
  for (const std::uint64_t pages : {1, 3, 10}) {
    const PageHandle page = create(page_ * pages);
    EXPECT_EQ(map(at + page_ * 2, page, page_ * pages), DriverCode::ok);
    if (readable()) {
      fill(at + page_ * 2, page_ * pages, 5);
      EXPECT_TRUE(holds(at + page_ * 2, page_ * pages, 5));
    }
    EXPECT_EQ(unmap(at + page_ * 2, page_ * pages), DriverCode::ok);
    EXPECT_TRUE(mapping().destroy_page(page));
  }
  EXPECT_EQ(unreserve(at, page_ * 16), DriverCode::ok);
}

TEST_P(MappingContract, PagesLieOneAfterTheOther) {
  const Address at = reserve(page_ * 4);
  const std::vector<PageHandle> pages = create(4);
  ASSERT_EQ(map(at, pages), DriverCode::ok);
  if (readable()) {
    for (std::size_t i = 0; i < 4; ++i) fill(at + page_ * i, page_, static_cast<int>(i) + 1);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(holds(at + page_ * i, page_, static_cast<int>(i) + 1));
  }
  EXPECT_EQ(unmap(at, page_ * 4), DriverCode::ok);
  // In another order the pages bring their bytes with them.
  ASSERT_EQ(map(at, {pages[3], pages[2], pages[1], pages[0]}), DriverCode::ok);
  if (readable()) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(holds(at + page_ * i, page_, 4 - static_cast<int>(i)));
  }
  EXPECT_EQ(unmap(at, page_ * 4), DriverCode::ok);
  destroy(pages);
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::ok);
}

TEST_P(MappingContract, AliasesShareTheirBytes) {
  const Address at = reserve(page_ * 4);
  const std::vector<PageHandle> pages = create(2);
  ASSERT_EQ(map(at, pages), DriverCode::ok);
  ASSERT_EQ(map(at + page_ * 2, {pages[1], pages[0]}), DriverCode::ok);
  if (readable()) {
    fill(at, page_, 3);
    fill(at + page_ * 2, page_, 4);
    EXPECT_TRUE(holds(at + page_ * 3, page_, 3));
    EXPECT_TRUE(holds(at + page_, page_, 4));
  }
  EXPECT_EQ(unmap(at, page_ * 2), DriverCode::ok);
  EXPECT_TRUE(keeps(at + page_ * 3, page_, 3)) << "the other mapping stays";
  EXPECT_EQ(unmap(at + page_ * 2, page_ * 2), DriverCode::ok);
  destroy(pages);
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::ok);
}

TEST_P(MappingContract, NothingIsMappedOverAMapping) {
  const Address at = reserve(page_ * 4);
  const std::vector<PageHandle> pages = create(3);
  ASSERT_EQ(map(at + page_, {pages[0]}), DriverCode::ok);
  if (readable()) fill(at + page_, page_, 9);
  EXPECT_EQ(map(at + page_, {pages[1]}), DriverCode::invalid);
  EXPECT_EQ(map(at, {pages[1], pages[2]}), DriverCode::invalid);
  EXPECT_TRUE(keeps(at + page_, page_, 9));
  EXPECT_EQ(map(at, {pages[1]}), DriverCode::ok) << "the refused call left nothing there";
  EXPECT_EQ(unmap(at, page_ * 2), DriverCode::ok);
  destroy(pages);
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::ok);
}

TEST_P(MappingContract, MappingsLieInsideAReservation) {
  const Address at = reserve(page_ * 2);
  const std::vector<PageHandle> pages = create(3);
  EXPECT_EQ(map(at, pages), DriverCode::invalid);
  EXPECT_EQ(map(at + page_, {pages[0], pages[1]}), DriverCode::invalid);
  EXPECT_EQ(map(at + Bytes{512}, {pages[0]}), DriverCode::invalid);
  EXPECT_EQ(map(at, {}), DriverCode::invalid);
  EXPECT_EQ(unreserve(at, page_ * 2), DriverCode::ok);
  EXPECT_EQ(map(at, {pages[0]}), DriverCode::invalid) << "the reservation is gone";
  destroy(pages);
}

TEST_P(MappingContract, OnlyWholePagesAreMapped) {
  const Address at = reserve(page_ * 4);
  const PageHandle large = create(page_ * 2);
  const PageHandle small = create(page_);
  EXPECT_EQ(map(at, large, page_), DriverCode::invalid);
  EXPECT_EQ(map(at, small, page_ * 2), DriverCode::invalid);
  EXPECT_EQ(map(at, {small, large}), DriverCode::invalid);
  EXPECT_EQ(map(at, large, page_ * 2), DriverCode::ok) << "the refused calls left nothing there";
  EXPECT_EQ(unmap(at, page_ * 2), DriverCode::ok);
  destroy({large, small});
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::ok);
}

TEST_P(MappingContract, OnlyWholeMappingsAreUnmapped) {
  const Address at = reserve(page_ * 8);
  const PageHandle large = create(page_ * 2);
  const std::vector<PageHandle> pages = create(3);
  ASSERT_EQ(map(at, large, page_ * 2), DriverCode::ok);
  ASSERT_EQ(map(at + page_ * 2, {pages[0], pages[1]}), DriverCode::ok);
  ASSERT_EQ(map(at + page_ * 5, {pages[2]}), DriverCode::ok);
  if (readable()) fill(at, page_ * 4, 6);
  EXPECT_EQ(unmap(at, page_), DriverCode::invalid) << "half of a page";
  EXPECT_EQ(unmap(at + page_, page_), DriverCode::invalid) << "the other half";
  EXPECT_EQ(unmap(at, page_ * 5), DriverCode::invalid) << "beyond the last mapping";
  EXPECT_EQ(unmap(at + page_ * 2, page_ * 4), DriverCode::invalid) << "across a hole";
  EXPECT_EQ(unmap(at + page_ * 4, page_), DriverCode::invalid) << "nothing mapped";
  EXPECT_EQ(unmap(at, {}), DriverCode::invalid);
  EXPECT_TRUE(keeps(at, page_ * 4, 6)) << "the refused calls changed nothing";
  EXPECT_EQ(unmap(at + page_ * 3, page_), DriverCode::ok) << "one page of a call that mapped two";
  EXPECT_EQ(unmap(at, page_ * 3), DriverCode::ok) << "mappings of two calls";
  EXPECT_EQ(unmap(at, page_ * 2), DriverCode::invalid) << "twice";
  EXPECT_EQ(unmap(at + page_ * 5, page_), DriverCode::ok);
  destroy({large, pages[0], pages[1], pages[2]});
  EXPECT_EQ(unreserve(at, page_ * 8), DriverCode::ok);
}

TEST_P(MappingContract, AReservationIsGivenBackWholeAndEmpty) {
  const Address at = reserve(page_ * 4);
  const std::vector<PageHandle> pages = create(1);
  ASSERT_EQ(map(at + page_ * 3, pages), DriverCode::ok);
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::invalid) << "a page is mapped in it";
  EXPECT_EQ(unmap(at + page_ * 3, page_), DriverCode::ok);
  EXPECT_EQ(unreserve(at, page_ * 2), DriverCode::invalid);
  EXPECT_EQ(unreserve(at + page_, page_ * 3), DriverCode::invalid);
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::ok);
  EXPECT_EQ(unreserve(at, page_ * 4), DriverCode::invalid) << "twice";
  destroy(pages);
}

TEST_P(MappingContract, ADestroyedPageLivesWhileItIsMapped) {
  const Address at = reserve(page_ * 2);
  const PageHandle page = create(page_);
  ASSERT_EQ(map(at, {page}), DriverCode::ok);
  if (readable()) fill(at, page_, 8);
  EXPECT_TRUE(mapping().destroy_page(page));
  EXPECT_TRUE(keeps(at, page_, 8));
  EXPECT_EQ(map(at + page_, {page}), DriverCode::invalid) << "it cannot be mapped again";
  EXPECT_EQ(mapping().destroy_page(page).code, DriverCode::invalid) << "twice";
  EXPECT_EQ(unmap(at, page_), DriverCode::ok);
  EXPECT_EQ(unreserve(at, page_ * 2), DriverCode::ok);
}

TEST_P(MappingContract, AFailedMapLeavesNothingMapped) {
  const Address at = reserve(page_ * 3);
  const std::vector<PageHandle> pages = create(3);
  EXPECT_TRUE(mapping().destroy_page(pages[2]));
  EXPECT_EQ(map(at, pages), DriverCode::invalid);
  EXPECT_EQ(unmap(at, page_), DriverCode::invalid);
  EXPECT_EQ(map(at + page_, {pages[0], pages[1]}), DriverCode::ok);
  EXPECT_EQ(unmap(at + page_, page_ * 2), DriverCode::ok);
  destroy({pages[0], pages[1]});
  EXPECT_EQ(unreserve(at, page_ * 3), DriverCode::ok);
}

TEST_P(MappingContract, AbsurdSizesAreOutOfMemoryAndNotSticky) {
  for (const std::uint64_t size : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, 0 - page_.count}) {
    EXPECT_EQ(mapping().reserve({size}).status.code, DriverCode::out_of_memory) << size;
    EXPECT_EQ(mapping().create_page({size}, {}).status.code, DriverCode::out_of_memory) << size;
    const Address at = reserve(page_);
    destroy(create(1));
    EXPECT_EQ(unreserve(at, page_), DriverCode::ok);
  }
}

// Each thread marks its pages where it can, through a range of its own.
TEST_P(MappingContract, ThreadsMapSideBySide) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  std::array<int, kThreads> wrong{};
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      int& bad = wrong[static_cast<std::size_t>(id)];
      const DriverResult<Address> at = mapping().reserve(page_);
      for (int round = 0; round < kRounds && at; ++round) {
        const DriverResult<PageHandle> page = mapping().create_page(page_, {});
        if (!page || !mapping().map(at.value, page_, &page.value, 1)) {
          ++bad;
          continue;
        }
        if (readable()) fill(at.value, page_, id + 1);
        if (readable() && !holds(at.value, page_, id + 1)) ++bad;
        if (!mapping().unmap(at.value, page_) || !mapping().destroy_page(page.value)) ++bad;
      }
      if (!at || !mapping().unreserve(at.value, page_)) ++bad;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, kThreads>{}));
}

}  // namespace quarry::contract
