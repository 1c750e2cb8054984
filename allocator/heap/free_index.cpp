#include <quarry/allocator/heap/free_index.h>

#include <quarry/allocator/check.h>

namespace quarry {

std::uint64_t FreeIndex::priority(const Block* block) {
  // Multiplying by an odd constant and folding the high half down spreads addresses that differ in few bits.
  const std::uint64_t mixed = (block->address.value >> 9) * 0x9e3779b97f4a7c15ull;
  return mixed ^ (mixed >> 32);
}

bool FreeIndex::less(const Block* a, const Block* b) const {
  if (a->size != b->size) return a->size < b->size;
  if (tie_break_ == TieBreak::segment && a->segment != b->segment) return a->segment->number < b->segment->number;
  return a->address < b->address;
}

void FreeIndex::insert(Block* block) {
  Block** link = &root_;
  while (*link != nullptr && priority(*link) >= priority(block)) {
    link = less(*link, block) ? &(*link)->right : &(*link)->left;
  }
  // What hangs here is split by the new key into the children of `block`.
  Block* rest = *link;
  *link = block;
  Block** left = &block->left;
  Block** right = &block->right;
  while (rest != nullptr) {
    if (less(rest, block)) {
      *left = rest;
      left = &rest->right;
      rest = rest->right;
    } else {
      *right = rest;
      right = &rest->left;
      rest = rest->left;
    }
  }
  *left = *right = nullptr;
}

void FreeIndex::erase(Block* block) {
  Block** link = &root_;
  while (*link != block) {
    QUARRY_CHECK(*link != nullptr, "a free block is missing from its index");
    link = less(*link, block) ? &(*link)->right : &(*link)->left;
  }
  Block* left = block->left;
  Block* right = block->right;
  while (left != nullptr && right != nullptr) {
    if (priority(left) >= priority(right)) {
      *link = left;
      link = &left->right;
      left = left->right;
    } else {
      *link = right;
      link = &right->left;
      right = right->left;
    }
  }
  *link = left != nullptr ? left : right;
}

Block* FreeIndex::at_least(Bytes size) const {
  Block* best = nullptr;
  for (Block* node = root_; node != nullptr;) {
    if (node->size >= size) {
      best = node;
      node = node->left;
    } else {
      node = node->right;
    }
  }
  return best;
}

Block* FreeIndex::before(const Block* block) const {
  Block* best = nullptr;
  for (Block* node = root_; node != nullptr;) {
    if (block == nullptr || less(node, block)) {
      best = node;
      node = node->right;
    } else {
      node = node->left;
    }
  }
  return best;
}

Block* FreeIndex::after(const Block* block) const {
  Block* best = nullptr;
  for (Block* node = root_; node != nullptr;) {
    if (less(block, node)) {
      best = node;
      node = node->left;
    } else {
      node = node->right;
    }
  }
  return best;
}

}  // namespace quarry
