// Storage of block records: chunks that never move, and a free list threaded through them. No lock: the heap's.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include <quarry/allocator/heap/block.h>

namespace quarry {

class BlockSlab {
 public:
  // Allocates from the process heap only when every record is taken.
  Block* make() {
    if (free_ == nullptr) add_chunk();
    Block* block = free_;
    free_ = block->next;
    ++used_;
    return new (block) Block{};
  }

  void drop(Block* block) {
    block->next = free_;
    free_ = block;
    --used_;
  }

  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kChunk = 256;  // 16 KiB

  void add_chunk() {
    Block* chunk = chunks_.emplace_back(std::make_unique<Block[]>(kChunk)).get();
    for (std::size_t i = kChunk; i-- > 0;) {
      chunk[i].next = free_;
      free_ = &chunk[i];
    }
  }

  std::vector<std::unique_ptr<Block[]>> chunks_;
  Block* free_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace quarry
