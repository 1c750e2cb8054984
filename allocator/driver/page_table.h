// The rules of Mapping, and what is reserved, created and mapped: bookkeeping alone, for drivers that have no GPU to
// enforce them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <quarry/allocator/driver/driver.h>

namespace quarry {

// Not synchronised; the owner locks.
class PageTable {
 public:
  struct Page {
    Bytes size;
    std::uint64_t place;         // the owner's: where the bytes are
    std::uint64_t mappings = 0;  // how often it is mapped
    bool alive = true;           // not destroyed
  };
  struct Mapped {
    PageHandle page;
    Bytes size;
    std::uint64_t place;   // of the page
    std::uint64_t number;  // differs for every mapping ever made
  };
  using Mappings = std::map<Address, Mapped>;

  // Every size and address is a multiple of `granularity`.
  explicit PageTable(Bytes granularity) : granularity_(granularity) {}

  // Whether a reservation or page may have this size.
  bool valid(Bytes size) const { return size.count > 0 && size.count % granularity_.count == 0; }

  // The caller made sure that the range is free.
  void add_reservation(Address base, Bytes size) { reservations_.emplace(base, size); }
  // The exact range of a reservation with nothing mapped in it.
  bool can_remove_reservation(Address base, Bytes size) const;
  void remove_reservation(Address base) { reservations_.erase(base); }
  // The start of the reservation that holds all of the range.
  std::optional<Address> reservation_of(Address base, Bytes size) const;

  PageHandle add_page(Bytes size, std::uint64_t place);
  const Page* find_page(PageHandle page) const;  // null for one that was destroyed
  // `page` is alive. The page if its bytes are now nobody's.
  std::optional<Page> destroy_page(PageHandle page);

  bool can_map(Address base, Bytes page_size, const PageHandle* pages, std::size_t count) const;
  void map(Address base, PageHandle page);
  // The range is a sequence of whole mappings without a hole.
  bool can_unmap(Address base, Bytes size) const;
  // The pages whose bytes are now nobody's.
  std::vector<Page> unmap(Address base, Bytes size);

  const std::map<Address, Bytes>& reservations() const { return reservations_; }
  const Mappings& mappings() const { return mappings_; }
  std::size_t pages() const { return pages_.size(); }     // alive or mapped
  Mappings::const_iterator mapping_at(Address at) const;  // the one that holds `at`, or end

 private:
  bool meets_mapping(Address base, Bytes size) const;

  Bytes granularity_;
  std::map<Address, Bytes> reservations_;
  std::map<PageHandle, Page> pages_;
  Mappings mappings_;
  std::uint64_t next_page_ = 1;
  std::uint64_t next_mapping_ = 1;
};

}  // namespace quarry
