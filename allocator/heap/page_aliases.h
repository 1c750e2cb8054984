// Alias addresses of a paged arena: runs of pages mapped a second time, one after the other, so that a block can be
// made of pages that lie apart. An alias stays mapped when its block is freed and serves the next block of the same
// pages without a driver call. Guard: the heap lock of the space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include <quarry/allocator/heap/free_space.h>
#include <quarry/allocator/types.h>

namespace quarry {

struct Pool;

using PageNumber = std::uint32_t;
using PageSequence = std::vector<PageNumber>;

struct Alias {
  Address base;
  PageSequence pages;
  // Of the live block, or the last one.
  const Pool* pool = nullptr;
  StreamId stream = kDefaultStream;
  std::uint64_t number = 0;  // of the stream's free, once idle
  Units begin = 0;           // from `base`
  Units size = 0;
  bool idle = false;
  std::list<Alias*>::iterator place;  // in the order of idling
};

class PageAliases {
 public:
  // Fresh ones are live.
  Alias& add(Address base, PageSequence pages);
  // An idle alias of exactly these pages becomes live; null if there is none.
  Alias* wake(const PageSequence& pages);
  bool has_idle(const PageSequence& pages) const { return find_idle(pages) != nullptr; }
  // The live alias whose block starts at `address`; null if that is no alias address.
  Alias* containing(Address address);
  void put_to_sleep(Alias& alias);
  // Takes an idle alias out of the index, so that it can be unmapped with the lock dropped; erase ends it, put_to_sleep
  // takes it back.
  void claim(Alias& alias);
  void erase(Alias& alias);

  // Longest idle first, until `visit(alias)` is false. `visit` may not change the set.
  template <class Visit>
  void for_idle(Visit&& visit) const {
    for (Alias* alias : idle_order_) {
      if (!visit(*alias)) return;
    }
  }
  // Every alias, in address order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [base, alias] : aliases_) visit(alias);
  }

  std::size_t count() const { return aliases_.size(); }
  std::size_t idle() const { return idle_order_.size(); }
  std::size_t pages() const { return pages_; }  // of all aliases

 private:
  static std::size_t hash(const PageSequence& pages);
  Alias* find_idle(const PageSequence& pages) const;

  std::map<Address, Alias> aliases_;
  std::unordered_multimap<std::size_t, Alias*> by_pages_;  // the idle ones
  std::list<Alias*> idle_order_;                           // longest idle first
  std::size_t pages_ = 0;
};

}  // namespace quarry
