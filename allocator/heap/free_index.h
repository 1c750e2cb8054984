// The free blocks of one class and one stream, ordered by size and, among equals, by the tie-break.
//
// A treap through the blocks themselves: no allocation, no parent links, O(log n) expected for every operation. The
// priority of a block is a hash of its address, so the shape depends on what is in it and not on the order of arrival.
#pragma once

#include <cstdint>

#include <quarry/allocator/heap/block.h>

namespace quarry {

class FreeIndex {
 public:
  explicit FreeIndex(TieBreak tie_break) : tie_break_(tie_break) {}

  void insert(Block* block);
  // `block` is in the index.
  void erase(Block* block);

  // The first block of at least `size`; null if there is none.
  Block* at_least(Bytes size) const;
  // The last block before `block`, the last of all if `block` is null; null if there is none.
  Block* before(const Block* block) const;
  // The first block after `block`; null if there is none.
  Block* after(const Block* block) const;
  bool empty() const { return root_ == nullptr; }

  // In order. `visit` must not change the index.
  template <class Visit>
  void for_each(Visit&& visit) const {
    each(root_, visit);
  }

 private:
  static std::uint64_t priority(const Block* block);
  bool less(const Block* a, const Block* b) const;

  template <class Visit>
  static void each(Block* node, Visit& visit) {
    for (; node != nullptr; node = node->right) {
      each(node->left, visit);
      visit(node);
    }
  }

  Block* root_ = nullptr;
  TieBreak tie_break_;
};

}  // namespace quarry
