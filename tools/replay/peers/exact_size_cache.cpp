#include "tools/replay/peers/exact_size_cache.h"

#include <optional>

#include <quarry/allocator/sim/address_layout.h>

namespace quarry::tools {

ExactSizeCache::Block ExactSizeCache::allocate(Bytes size, StreamId stream, std::uint16_t pool) {
  constexpr Bytes kUnit{512};
  const std::optional<Bytes> rounded = sim::round_up(size, kUnit);
  if (size == Bytes{} || !rounded) return {};
  Bin& bin = bins_.try_emplace({*rounded, stream, pool}, Bin{*rounded, {}}).first->second;
  if (!bin.cached.empty()) {
    const Address address = bin.cached.back();
    bin.cached.pop_back();
    return {address, *rounded, &bin};
  }
  DriverResult<Address> got = source_.allocate(*rounded);
  if (got.status.code == DriverCode::out_of_memory) {
    release_cached();
    got = source_.allocate(*rounded);
  }
  if (!got) return {};
  return {got.value, *rounded, &bin};
}

void ExactSizeCache::free(const Block& block) {
  if (block.bin != nullptr) block.bin->cached.push_back(block.address);
}

void ExactSizeCache::release_cached() {
  for (auto& [key, bin] : bins_) {
    for (const Address address : bin.cached) source_.release(address, bin.size);
    bin.cached.clear();
  }
}

}  // namespace quarry::tools
