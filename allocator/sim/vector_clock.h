// What is known to have happened before some point: for each stream the last piece of its queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry::sim {

class VectorClock {
 public:
  bool covers(std::size_t stream, std::uint64_t sequence) const {
    return stream < seen_.size() && seen_[stream] >= sequence;
  }

  void see(std::size_t stream, std::uint64_t sequence) {
    if (stream >= seen_.size()) seen_.resize(stream + 1);
    seen_[stream] = std::max(seen_[stream], sequence);
  }

  void join(const VectorClock& other) {
    if (other.seen_.size() > seen_.size()) seen_.resize(other.seen_.size());
    for (std::size_t i = 0; i < other.seen_.size(); ++i) seen_[i] = std::max(seen_[i], other.seen_[i]);
  }

 private:
  std::vector<std::uint64_t> seen_;
};

}  // namespace quarry::sim
