// Where a tensor's elements lie in its storage, and the views that only change that. Everything counts in elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <quarry/allocator/result.h>
#include <quarry/tensor/shape.h>

namespace quarry {

// Element (i, j, ..) lies at offset + i * strides[0] + j * strides[1] + ..; strides may be 0 or negative.
struct Layout {
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;

  std::int64_t count() const;  // elements
  bool is_dense() const;       // as dense_strides lays them out; a dimension of size 1 may have any stride

  friend bool operator==(const Layout&, const Layout&) = default;
};

Layout dense_layout(const Dims& sizes);

// Lowest place and one past the highest; both 0 where there is no element.
struct Reach {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Reach reach(const Layout& layout);

// A run of equal steps: what neighbouring dimensions merge into when one continues the other.
struct Run {
  std::int64_t size;
  std::int64_t stride;
};
// Dimensions of size 1 are dropped. The outermost first.
std::vector<Run> merged(const Layout& layout);

// True where two elements lie, or might lie, at the same place. Exact for whatever views of dense tensors give.
bool overlaps_itself(const Layout& layout);
// How many different places there are: exact unless overlaps_itself for another reason than a stride of 0, then at most
// this many.
std::int64_t count_places(const Layout& layout);

// Views. `dim` counts from the end where it is negative. All errors are `invalid` and name the rule.
Result<std::size_t> find_dim(std::int64_t dim, std::size_t dims);
// [begin, end) in steps of `step` > 0; begin and end count from the end where they are negative and are cut to what
// there is.
Result<Layout> slice(const Layout& from, std::int64_t dim, std::int64_t begin, std::int64_t end, std::int64_t step);
Result<Layout> select(const Layout& from, std::int64_t dim, std::int64_t index);
// Like slice, but a range that is not wholly there is an error.
Result<Layout> narrow(const Layout& from, std::int64_t dim, std::int64_t start, std::int64_t length);
Result<Layout> transpose(const Layout& from, std::int64_t a, std::int64_t b);
Result<Layout> permute(const Layout& from, const Dims& order);
// One size may be -1: it is found from the others. An error where the elements would have to be copied.
Result<Layout> view(const Layout& from, const Dims& sizes);
Result<Dims> infer_sizes(const Layout& from, const Dims& sizes);
// Dimensions of size 1 become any size with stride 0, new ones come in front; -1 leaves a size as it is.
Result<Layout> expand(const Layout& from, const Dims& sizes);
Layout squeeze(const Layout& from);  // every dimension of size 1
Result<Layout> squeeze(const Layout& from, std::int64_t dim);
Result<Layout> unsqueeze(const Layout& from, std::int64_t dim);

}  // namespace quarry
