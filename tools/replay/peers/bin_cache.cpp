#include "tools/replay/peers/bin_cache.h"

#include <algorithm>
#include <bit>

namespace quarry::tools {

BinCache::Block BinCache::allocate(Bytes size, StreamId stream, std::uint16_t pool) {
  if (size == Bytes{} || size.count > std::uint64_t{1} << 62) return {};
  Block block;
  block.bin = std::max(kSmallest, static_cast<std::uint8_t>(std::bit_width(size.count - 1)));
  block.size = Bytes{std::uint64_t{1} << block.bin};
  block.pool = pool;
  const bool found = take_cached(pools_[pool][block.bin], stream, block) || fetch(block);
  if (!found) return {};
  block.stream = stream;
  return block;
}

// Of another stream only the oldest is asked for: the events of one stream complete in their order.
bool BinCache::take_cached(Bin& bin, StreamId stream, Block& block) {
  const auto own = bin.find(stream);
  if (own != bin.end() && !own->second.empty()) {
    block = own->second.back();
    own->second.pop_back();
    return true;
  }
  for (auto& [other, cached] : bin) {
    if (cached.empty() || !cached.front().ordered || !source_.ordering()->query(cached.front().event)) continue;
    block = cached.front();
    cached.pop_front();
    return true;
  }
  return false;
}

// A new segment with its event.
bool BinCache::fetch(Block& block) {
  DriverResult<Address> got = source_.allocate(block.size);
  if (got.status.code == DriverCode::out_of_memory) {
    release_cached();
    got = source_.allocate(block.size);
  }
  if (!got) return false;
  block.address = got.value;
  if (source_.ordering() == nullptr) return true;
  if (const DriverResult<EventHandle> event = source_.ordering()->create_event(); event) block.event = event.value;
  return true;
}

void BinCache::free(Block block) {
  if (block.address == Address{}) return;
  block.ordered = block.event != EventHandle{} &&
                  source_.ordering()->record(block.event, handles_[static_cast<std::size_t>(block.stream)]);
  pools_[block.pool][block.bin][block.stream].push_back(block);
}

void BinCache::release_cached() {
  for (auto& [pool, bins] : pools_) {
    for (Bin& bin : bins) {
      for (auto& [stream, cached] : bin) {
        for (const Block& block : cached) {
          source_.release(block.address, block.size);
          if (block.event != EventHandle{}) static_cast<void>(source_.ordering()->destroy_event(block.event));
        }
      }
      bin.clear();
    }
  }
}

}  // namespace quarry::tools
