// Native stream handles <-> numbers. Number 0 is the default stream, handle null. No lock: the heap's.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <quarry/allocator/types.h>

namespace quarry {

class StreamTable {
 public:
  // The number of `handle`, a new one if it has not been seen.
  StreamId resolve(std::uint64_t handle) {
    const auto next = static_cast<StreamId>(handles_.size());
    const auto [found, fresh] = numbers_.try_emplace(handle, next);
    if (fresh) handles_.push_back(handle);
    return found->second;
  }

  const std::vector<std::uint64_t>& handles() const { return handles_; }

 private:
  std::vector<std::uint64_t> handles_{0};
  std::unordered_map<std::uint64_t, StreamId> numbers_{{0, kDefaultStream}};
};

}  // namespace quarry
