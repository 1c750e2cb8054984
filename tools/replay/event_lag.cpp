#include "tools/replay/event_lag.h"

#include <algorithm>

namespace quarry::tools {

void EventLag::advance() {
  constexpr std::uint64_t kSlice = 10'000'000'000;  // 10 s: growing by 80 GiB page by page takes about that long
  device_.advance(kSlice);
  advanced_ += kSlice;
  const std::uint64_t now = device_.clock_ns();
  const std::uint64_t until = now + lag_ * kSlice;
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    const std::uint64_t from = std::max(busy_until_[i], now);
    if (from >= until) continue;
    device_.work(handles_[i], until - from);
    busy_until_[i] = until;
  }
}

}  // namespace quarry::tools
