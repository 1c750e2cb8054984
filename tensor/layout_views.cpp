// The views: each makes a new layout over the same elements.
#include <algorithm>
#include <string>

#include <quarry/tensor/error.h>
#include <quarry/tensor/layout.h>

namespace quarry {

namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

}  // namespace

Result<std::size_t> find_dim(std::int64_t dim, std::size_t dims) {
  const auto count = static_cast<std::int64_t>(dims);
  if (dim < -count || dim >= count) {
    return invalid("dimension " + number(dim) + " of a tensor with " + number(count));
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

Result<Layout> slice(const Layout& from, std::int64_t dim, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const Result<std::size_t> at = find_dim(dim, from.sizes.size());
  if (!at) return at.error();
  if (step < 1) return invalid("slice: the step " + number(step) + " is not above 0");
  const std::int64_t size = from.sizes[*at];
  const auto cut = [size](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const std::int64_t first = cut(begin);
  const std::int64_t length = std::max<std::int64_t>(cut(end) - first, 0);
  Layout result = from;
  result.sizes[*at] = length / step + (length % step != 0 ? 1 : 0);
  result.offset += first * from.strides[*at];
  // With one element left the step is never taken, and a huge one would leave 64 bits.
  result.strides[*at] = result.sizes[*at] > 1 ? from.strides[*at] * step : from.strides[*at];
  return result;
}

Result<Layout> select(const Layout& from, std::int64_t dim, std::int64_t index) {
  const Result<std::size_t> at = find_dim(dim, from.sizes.size());
  if (!at) return at.error();
  const std::int64_t size = from.sizes[*at];
  if (index < -size || index >= size) {
    return invalid("select: index " + number(index) + " of a dimension of size " + number(size));
  }
  Layout result = from;
  result.offset += (index < 0 ? index + size : index) * from.strides[*at];
  result.sizes.erase(*at);
  result.strides.erase(*at);
  return result;
}

Result<Layout> narrow(const Layout& from, std::int64_t dim, std::int64_t start, std::int64_t length) {
  const Result<std::size_t> at = find_dim(dim, from.sizes.size());
  if (!at) return at.error();
  const std::int64_t size = from.sizes[*at];
  if (start < 0 || length < 0 || start > size || length > size - start) {
    return invalid("narrow: " + number(length) + " from " + number(start) + " on of a dimension of size " +
                   number(size));
  }
  Layout result = from;
  result.sizes[*at] = length;
  result.offset += start * from.strides[*at];
  return result;
}

Result<Layout> transpose(const Layout& from, std::int64_t a, std::int64_t b) {
  const Result<std::size_t> first = find_dim(a, from.sizes.size());
  if (!first) return first.error();
  const Result<std::size_t> second = find_dim(b, from.sizes.size());
  if (!second) return second.error();
  Layout result = from;
  std::swap(result.sizes[*first], result.sizes[*second]);
  std::swap(result.strides[*first], result.strides[*second]);
  return result;
}

Result<Layout> permute(const Layout& from, const Dims& order) {
  const std::string what = "permute: " + text(order) + " is no order of " +
                           number(static_cast<std::int64_t>(from.sizes.size())) + " dimensions";
  if (order.size() != from.sizes.size()) return invalid(what);
  Layout result = from;
  Dims taken = Dims::of(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Result<std::size_t> at = find_dim(order[i], order.size());
    if (!at || taken[*at]++ != 0) return invalid(what);
    result.sizes[i] = from.sizes[*at];
    result.strides[i] = from.strides[*at];
  }
  return result;
}

Result<Dims> infer_sizes(const Layout& from, const Dims& sizes) {
  Dims result = sizes;
  std::size_t open = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1) continue;
    if (open != sizes.size()) return invalid("view: sizes " + text(sizes) + " leave more than one open");
    open = i;
    result[i] = 1;
  }
  const Result<std::int64_t> count = count_elements(result);
  if (!count) return count.error();
  if (open != sizes.size()) {
    if (*count == 0) return invalid("view: sizes " + text(sizes) + " leave the open one undecided");
    result[open] = from.count() / *count;
  }
  const Result<std::int64_t> all = count_elements(result);
  if (!all) return all.error();
  if (*all != from.count()) {
    return invalid("view: sizes " + text(sizes) + " do not hold the " + number(from.count()) + " elements of " +
                   text(from.sizes));
  }
  return result;
}

// The runs of `from` are used up from the innermost on; a new dimension must lie within one of them.
Result<Layout> view(const Layout& from, const Dims& sizes) {
  const Result<Dims> wanted = infer_sizes(from, sizes);
  if (!wanted) return wanted.error();
  Layout result{*wanted, dense_strides(*wanted), from.offset};
  if (from.count() == 0) return result;
  std::vector<Run> runs = merged(from);
  for (std::size_t i = wanted->size(); i-- > 0;) {
    const std::int64_t size = (*wanted)[i];
    if (size == 1) continue;
    while (runs.back().size == 1) runs.pop_back();
    Run& run = runs.back();
    if (run.size % size != 0) {
      return invalid("view: sizes " + text(from.sizes) + " with strides " + text(from.strides) + " as " +
                     text(*wanted) + " would need a copy (reshape makes one)");
    }
    result.strides[i] = run.stride;
    run = {run.size / size, run.stride * size};
  }
  return result;
}

Result<Layout> expand(const Layout& from, const Dims& sizes) {
  const auto refuse = [&] { return invalid("expand: sizes " + text(from.sizes) + " to " + text(sizes)); };
  if (sizes.size() < from.sizes.size()) return refuse();
  const std::size_t added = sizes.size() - from.sizes.size();
  Layout result{sizes, Dims::of(sizes.size(), 0), from.offset};
  for (std::size_t i = added; i < sizes.size(); ++i) {
    const std::int64_t old = from.sizes[i - added];
    if (sizes[i] == -1) result.sizes[i] = old;
    if (result.sizes[i] == old) {
      result.strides[i] = from.strides[i - added];
    } else if (old != 1) {
      return refuse();
    }
  }
  const Result<std::int64_t> count = count_elements(result.sizes);
  if (!count) return count.error();
  return result;
}

Layout squeeze(const Layout& from) {
  Layout result{{}, {}, from.offset};
  for (std::size_t i = 0; i < from.sizes.size(); ++i) {
    if (from.sizes[i] == 1) continue;
    result.sizes.push_back(from.sizes[i]);
    result.strides.push_back(from.strides[i]);
  }
  return result;
}

Result<Layout> squeeze(const Layout& from, std::int64_t dim) {
  const Result<std::size_t> at = find_dim(dim, from.sizes.size());
  if (!at) return at.error();
  Layout result = from;
  if (from.sizes[*at] != 1) return result;
  result.sizes.erase(*at);
  result.strides.erase(*at);
  return result;
}

Result<Layout> unsqueeze(const Layout& from, std::int64_t dim) {
  const Result<std::size_t> at = find_dim(dim, from.sizes.size() + 1);
  if (!at) return at.error();
  if (from.sizes.size() == kMaxDims) return invalid("unsqueeze: a tensor has at most eight dimensions");
  Layout result = from;
  const bool last = *at == from.sizes.size();
  result.sizes.insert(*at, 1);
  result.strides.insert(*at, last ? 1 : from.sizes[*at] * from.strides[*at]);
  return result;
}

}  // namespace quarry
