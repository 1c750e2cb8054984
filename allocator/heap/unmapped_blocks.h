// The unmapped blocks of expandable segments, by class and stream in order of address. No lock: the heap's.
#pragma once

#include <map>
#include <tuple>

#include <quarry/allocator/heap/block.h>

namespace quarry {

class UnmappedBlocks {
 public:
  void insert(Block* block) { blocks_.emplace(key(*block), block); }
  void erase(Block* block) { blocks_.erase(key(*block)); }
  bool contains(const Block* block) const { return blocks_.contains(key(*block)); }
  std::size_t size() const { return blocks_.size(); }

  // The first in order of address that `wanted(block)` takes; null if there is none.
  template <class Wanted>
  Block* find(SizeClass size_class, StreamId stream, Wanted&& wanted) const {
    for (auto at = blocks_.lower_bound({size_class, stream, {}}); at != blocks_.end(); ++at) {
      if (std::get<0>(at->first) != size_class || std::get<1>(at->first) != stream) break;
      if (wanted(at->second)) return at->second;
    }
    return nullptr;
  }

 private:
  using Key = std::tuple<SizeClass, StreamId, Address>;
  static Key key(const Block& block) { return {block.segment->size_class, block.segment->stream, block.address}; }

  std::map<Key, Block*> blocks_;
};

}  // namespace quarry
