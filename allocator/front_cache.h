// Freed blocks that are handed out again as they are: same stream, same size. The first place a request of the paged
// policy looks, without search, split or merge. One for each pool.
//
// The lowest address goes first, not the last freed: what a program gets then depends on what is free and not on the
// order of the frees, and a program that repeats itself gets the same addresses again from the second round on.
// Whatever the next request of the stream does not take as it is goes back to the heap (Space::allocate), so that the
// heap places by all there is. Bounded: blocks up to kMostFrontBlock, and kMostFrontBytes for each stream. Guard: the
// heap lock of the space. A cache for each thread, without a lock, would take this place.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <quarry/allocator/heap/bit_tree.h>
#include <quarry/allocator/heap/block.h>
#include <quarry/allocator/heap/free_space.h>

namespace quarry {

// Few: with 64 KiB or more a program of many small blocks (tests/data resnet) has another order of them in each round,
// and never comes to rest.
inline constexpr Bytes kMostFrontBlock{16ull << 10};
inline constexpr Bytes kMostFrontBytes{16ull << 10};

class FrontCache {
 public:
  // The lowest block of exactly that rounded size; null if there is none.
  Block* take(StreamId stream, Bytes size) {
    if (size > kMostFrontBlock || static_cast<std::size_t>(stream) >= lines_.size()) return nullptr;
    Line* line = lines_[static_cast<std::size_t>(stream)].get();
    return line == nullptr ? nullptr : line->pop(size.count / kUnit);
  }

  // False if it has no room for the block, or the block is too large.
  bool put(Block* block) {
    if (block->size > kMostFrontBlock) return false;
    Line& line = line_of(block->segment->stream);
    return line.held + block->size <= kMostFrontBytes && line.push(block);
  }

  // Takes the blocks of one stream out and visits each.
  template <class Visit>
  void flush(StreamId stream, Visit&& visit) {
    if (static_cast<std::size_t>(stream) >= lines_.size() || lines_[static_cast<std::size_t>(stream)] == nullptr)
      return;
    Line& line = *lines_[static_cast<std::size_t>(stream)];
    if (line.held == Bytes{}) return;
    for (std::size_t list; (list = line.used.at_or_after(0)) != BitTree::kNone;) visit(line.pop(list));
  }
  template <class Visit>
  void flush_all(Visit&& visit) {
    for (std::size_t i = 0; i < lines_.size(); ++i) flush(static_cast<StreamId>(i), visit);
  }

  // The stream asks for nothing any more; nothing of it is here.
  void forget(StreamId stream) {
    if (static_cast<std::size_t>(stream) < lines_.size()) lines_[static_cast<std::size_t>(stream)].reset();
  }

 private:
  static constexpr int kMostSteps = 8;
  static constexpr std::size_t kLists = kMostFrontBlock.count / kUnit + 1;

  // The blocks of one stream, by exact size in units, linked by Block::left in order of address.
  struct Line {
    Line() : heads(kLists), used(kLists) {}

    // False where its place in the order is far.
    bool push(Block* block) {
      const auto list = static_cast<std::size_t>(block->size.count / kUnit);
      Block** at = &heads[list];
      for (int steps = 0; *at != nullptr && (*at)->address < block->address; at = &(*at)->left) {
        if (++steps == kMostSteps) return false;
      }
      block->state = BlockState::free;
      block->aside = Aside::cached;
      block->left = *at;
      *at = block;
      used.set(list);
      held += block->size;
      return true;
    }
    Block* pop(std::size_t list) {
      Block* block = heads[list];
      if (block == nullptr) return nullptr;
      heads[list] = block->left;
      if (heads[list] == nullptr) used.clear(list);
      held -= block->size;
      block->aside = Aside::no;
      block->state = BlockState::live;
      return block;
    }

    std::vector<Block*> heads;
    BitTree used;
    Bytes held;
  };

  Line& line_of(StreamId stream) {
    const auto index = static_cast<std::size_t>(stream);
    if (lines_.size() <= index) lines_.resize(index + 1);
    if (lines_[index] == nullptr) lines_[index] = std::make_unique<Line>();
    return *lines_[index];
  }

  std::vector<std::unique_ptr<Line>> lines_;  // by StreamId
};

}  // namespace quarry
