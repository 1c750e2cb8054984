// The allocator of the textbooks: best fit over ordered maps, free neighbours merged.
//
// All blocks stand in one map by address, the free ones in a set by size and address as well; a request takes the
// smallest free block that holds it, the lowest of equal ones, and cuts off what is left. Every step is O(log n).
// Without a lock, and for one stream: that is in its favour beside the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/types.h>

namespace quarry::bench {

// One thread.
class MapBestFit {
 public:
  static constexpr Bytes kAlignment{512};
  static constexpr Bytes kSmallestSegment{64ull << 20};

  // Segments come from `driver`: each as large as all before it together, or as the request if that is more.
  explicit MapBestFit(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}
  MapBestFit(const MapBestFit&) = delete;
  MapBestFit& operator=(const MapBestFit&) = delete;
  ~MapBestFit();  // gives all segments back, live blocks or not

  // Null if the driver refuses, and for 0 bytes and for 2^60 bytes and more.
  void* allocate(Bytes size);
  // `pointer` came from allocate.
  void deallocate(void* pointer);

  std::uint64_t operations() const { return operations_; }
  std::uint64_t live() const { return blocks_.size() - by_size_.size(); }
  Bytes reserved() const { return reserved_; }

  // The first broken invariant, or an empty string.
  std::string validate() const;

 private:
  using BySize = std::set<std::pair<Bytes, Address>>;
  struct Block {
    Bytes size;
    bool free = false;
    bool begins_segment = false;  // has no neighbour below, even if another segment ends there
    BySize::iterator in_index{};  // of a free block
  };
  using Blocks = std::map<Address, Block>;

  BySize::iterator grow(Bytes size);
  void put_in_index(Blocks::iterator block, BySize::node_type spare);

  std::shared_ptr<Driver> driver_;
  Blocks blocks_;   // without gaps inside a segment
  BySize by_size_;  // the free ones
  std::map<Address, Bytes> segments_;
  Bytes reserved_;
  std::uint64_t operations_ = 0;
};

}  // namespace quarry::bench
