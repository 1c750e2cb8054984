// Storage of small records: chunks that never move, and a free list threaded through their `next`. No lock: the heap's.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace quarry {

template <class Node>
class Slab {
 public:
  // Allocates from the process heap only when every record is taken.
  Node* make() {
    if (free_ == nullptr) add_chunk();
    Node* node = free_;
    free_ = node->next;
    ++used_;
    return new (node) Node{};
  }

  void drop(Node* node) {
    node->next = free_;
    free_ = node;
    --used_;
  }

  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kChunk = 256;

  void add_chunk() {
    Node* chunk = chunks_.emplace_back(std::make_unique<Node[]>(kChunk)).get();
    for (std::size_t i = kChunk; i-- > 0;) {
      chunk[i].next = free_;
      free_ = &chunk[i];
    }
  }

  std::vector<std::unique_ptr<Node[]>> chunks_;
  Node* free_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace quarry
