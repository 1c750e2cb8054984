#include "bench/peers/map_best_fit.h"

#include <algorithm>
#include <iterator>

#include <quarry/allocator/check.h>

namespace quarry::bench {
namespace {

constexpr Bytes kLargestRequest{1ull << 60};

Bytes aligned(Bytes size) {
  const std::uint64_t unit = MapBestFit::kAlignment.count;
  return {(size.count + unit - 1) / unit * unit};
}

}  // namespace

MapBestFit::~MapBestFit() {
  for (const auto& [base, size] : segments_) static_cast<void>(driver_->memory().release_segment(base, size));
}

void* MapBestFit::allocate(Bytes size) {
  if (size == Bytes{} || size >= kLargestRequest) return nullptr;
  const Bytes wanted = aligned(size);
  auto best = by_size_.lower_bound({wanted, Address{}});
  if (best == by_size_.end()) best = grow(wanted);
  if (best == by_size_.end()) return nullptr;

  const auto [found, address] = *best;
  const auto block = blocks_.find(address);
  BySize::node_type spare = by_size_.extract(best);
  block->second.free = false;
  if (found > wanted) {
    block->second.size = wanted;
    put_in_index(blocks_.emplace_hint(std::next(block), address + wanted, Block{found - wanted}), std::move(spare));
  }
  ++operations_;
  return reinterpret_cast<void*>(address.value);
}

void MapBestFit::deallocate(void* pointer) {
  auto block = blocks_.find(Address{reinterpret_cast<std::uint64_t>(pointer)});
  QUARRY_CHECK(block != blocks_.end() && !block->second.free, "a live block of this allocator is freed");
  BySize::node_type spare;
  if (const auto above = std::next(block);
      above != blocks_.end() && above->second.free && !above->second.begins_segment) {
    spare = by_size_.extract(above->second.in_index);
    block->second.size += above->second.size;
    blocks_.erase(above);
  }
  if (!block->second.begins_segment && std::prev(block)->second.free) {
    const auto below = std::prev(block);
    spare = by_size_.extract(below->second.in_index);
    below->second.size += block->second.size;
    blocks_.erase(block);
    block = below;
  }
  put_in_index(block, std::move(spare));
  ++operations_;
}

// `spare`: a node that was taken out, so that moving one costs no allocation; may be empty.
void MapBestFit::put_in_index(Blocks::iterator block, BySize::node_type spare) {
  block->second.free = true;
  const BySize::value_type key{block->second.size, block->first};
  if (spare) {
    spare.value() = key;
    block->second.in_index = by_size_.insert(std::move(spare)).position;
  } else {
    block->second.in_index = by_size_.insert(key).first;
  }
}

MapBestFit::BySize::iterator MapBestFit::grow(Bytes size) {
  const Bytes segment = std::max({size, reserved_, kSmallestSegment});
  const auto base = driver_->memory().allocate_segment(segment);
  if (!base) return by_size_.end();
  segments_.emplace(base.value, segment);
  reserved_ += segment;
  const auto block = blocks_.emplace(base.value, Block{segment, false, true}).first;
  put_in_index(block, {});
  return block->second.in_index;
}

std::string MapBestFit::validate() const {
  std::size_t free = 0;
  Bytes total;
  const Block* below = nullptr;
  Address end;
  for (const auto& [address, block] : blocks_) {
    if (!block.begins_segment && address != end) return "a gap or an overlap below a block";
    if (!block.begins_segment && below != nullptr && below->free && block.free) return "free neighbours";
    if (block.free && !by_size_.contains({block.size, address})) return "a free block is not in the index";
    free += block.free ? 1 : 0;
    total += block.size;
    below = &block;
    end = address + block.size;
  }
  if (free != by_size_.size()) return "the index holds what is not free";
  return total == reserved_ ? "" : "the blocks are not the segments";
}

}  // namespace quarry::bench
