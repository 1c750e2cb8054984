#include <quarry/tensor/layout.h>

#include <algorithm>
#include <cstdlib>

namespace quarry {

std::int64_t Layout::count() const {
  std::int64_t result = 1;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

bool Layout::is_dense() const {
  if (count() == 0) return true;
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

Layout dense_layout(const Dims& sizes) { return {sizes, dense_strides(sizes), 0}; }

Reach reach(const Layout& layout) {
  if (layout.count() == 0) return {};
  Reach result{layout.offset, layout.offset + 1};
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    const std::int64_t last = (layout.sizes[i] - 1) * layout.strides[i];
    (last < 0 ? result.begin : result.end) += last;
  }
  return result;
}

std::vector<Run> merged(const Layout& layout) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    const Run next{layout.sizes[i], layout.strides[i]};
    if (next.size == 1) continue;
    if (!runs.empty() && runs.back().stride == next.stride * next.size) {
      runs.back() = {runs.back().size * next.size, next.stride};
    } else {
      runs.push_back(next);
    }
  }
  return runs;
}

namespace {

// True when every step is larger than all that lies between two steps, the smallest step first.
bool steps_apart(std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return std::abs(a.stride) < std::abs(b.stride); });
  std::int64_t covered = 0;  // distance of the farthest two elements so far
  for (const Run& run : runs) {
    if (std::abs(run.stride) <= covered) return false;
    covered += (run.size - 1) * std::abs(run.stride);
  }
  return true;
}

}  // namespace

bool overlaps_itself(const Layout& layout) { return layout.count() > 0 && !steps_apart(merged(layout)); }

std::int64_t count_places(const Layout& layout) {
  const Reach span = reach(layout);
  std::int64_t places = layout.count() == 0 ? 0 : 1;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.strides[i] != 0) places *= layout.sizes[i];
  }
  return std::min(places, span.end - span.begin);
}

}  // namespace quarry
