// Address of a live block -> its record, in O(1). No lock: the heap's.
#pragma once

#include <quarry/allocator/heap/block.h>
#include <quarry/allocator/heap/node_map.h>

namespace quarry {

struct AddressKey {
  std::uint64_t operator()(Address address) const { return address.value >> 9; }
  std::uint64_t operator()(const Block* block) const { return (*this)(block->address); }
};

class AddressMap : public NodeMap<Block, AddressKey> {
 public:
  // Null if no live block starts at `address`.
  Block* find(Address address) const {
    Block* block = NodeMap::find(AddressKey{}(address));
    return block != nullptr && block->address == address ? block : nullptr;
  }
};

}  // namespace quarry
