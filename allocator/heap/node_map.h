// Key -> the record that has it, in O(1). Open addressing with linear probing and backward-shift deletion, so there are
// no tombstones. At most half full: 32 bytes a record at worst, 16 on average. No lock: the heap's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <quarry/allocator/check.h>

namespace quarry {

// KeyOf{}(node) is a number that no other node in the map has; it does not change while the node is in.
template <class Node, class KeyOf>
class NodeMap {
 public:
  NodeMap() : slots_(kInitialSlots) {}

  void insert(Node* node) {
    QUARRY_ASSERT(find(KeyOf{}(node)) == nullptr, "two records with one key");
    if (2 * (size_ + 1) > slots_.size()) grow();
    place(node);
    ++size_;
  }

  // Null if there is none.
  Node* find(std::uint64_t key) const {
    for (std::size_t i = home(key);; i = next(i)) {
      Node* node = slots_[i];
      if (node == nullptr || KeyOf{}(node) == key) return node;
    }
  }

  // `node` is in the map.
  void erase(const Node* node) {
    std::size_t hole = home(KeyOf{}(node));
    while (slots_[hole] != node) {
      QUARRY_CHECK(slots_[hole] != nullptr, "a record is missing from its map");
      hole = next(hole);
    }
    for (std::size_t i = next(hole); slots_[i] != nullptr; i = next(i)) {
      // The entry may move into the hole only if its home does not lie behind the hole, counted around the table.
      const std::size_t distance = (i - home(KeyOf{}(slots_[i]))) & mask();
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
  std::size_t home(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9e3779b97f4a7c15ull;
    return static_cast<std::size_t>(mixed >> 32) & mask();
  }

  void place(Node* node) {
    std::size_t i = home(KeyOf{}(node));
    while (slots_[i] != nullptr) i = next(i);
    slots_[i] = node;
  }

  void grow() {
    std::vector<Node*> old(slots_.size() * 2);
    old.swap(slots_);
    for (Node* node : old) {
      if (node != nullptr) place(node);
    }
  }

  std::vector<Node*> slots_;
  std::size_t size_ = 0;
};

}  // namespace quarry
