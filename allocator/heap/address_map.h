// Address of a live block -> its record, in O(1). Open addressing with linear probing and backward-shift deletion, so
// there are no tombstones. At most half full: 32 bytes a block at worst, 16 on average. No lock: the heap's.
#pragma once

#include <cstddef>
#include <vector>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/block.h>

namespace quarry {

class AddressMap {
 public:
  AddressMap() : slots_(kInitialSlots) {}

  void insert(Block* block) {
    QUARRY_ASSERT(find(block->address) == nullptr, "two live blocks at one address");
    if (2 * (size_ + 1) > slots_.size()) grow();
    place(block);
    ++size_;
  }

  // Null if no live block starts at `address`.
  Block* find(Address address) const {
    for (std::size_t i = home(address);; i = next(i)) {
      Block* block = slots_[i];
      if (block == nullptr || block->address == address) return block;
    }
  }

  // `block` is in the map.
  void erase(const Block* block) {
    std::size_t hole = home(block->address);
    while (slots_[hole] != block) {
      QUARRY_CHECK(slots_[hole] != nullptr, "a live block is missing from the address map");
      hole = next(hole);
    }
    for (std::size_t i = next(hole); slots_[i] != nullptr; i = next(i)) {
      // The entry may move into the hole only if its home does not lie behind the hole, counted around the table.
      const std::size_t distance = (i - home(slots_[i]->address)) & mask();
      if (distance >= ((i - hole) & mask())) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = nullptr;
    --size_;
  }

  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kInitialSlots = 64;  // a power of two

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  std::size_t home(Address address) const {
    const std::uint64_t mixed = (address.value >> 9) * 0x9e3779b97f4a7c15ull;
    return static_cast<std::size_t>(mixed >> 32) & mask();
  }

  void place(Block* block) {
    std::size_t i = home(block->address);
    while (slots_[i] != nullptr) i = next(i);
    slots_[i] = block;
  }

  void grow() {
    std::vector<Block*> old(slots_.size() * 2);
    old.swap(slots_);
    for (Block* block : old) {
      if (block != nullptr) place(block);
    }
  }

  std::vector<Block*> slots_;
  std::size_t size_ = 0;
};

}  // namespace quarry
