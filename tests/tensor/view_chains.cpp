#include "tensor/view_chains.h"

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include <quarry/tensor/memory.h>
#include <quarry/tensor/tensor.h>
#include "tensor/naive_tensor.h"

namespace quarry::tensor_tests {

namespace {

class Chain {
 public:
  Chain(const Place& place, std::uint64_t seed) : random_(seed), place_(place) {
    Dims sizes;
    for (std::int64_t dims = below(5); dims > 0; --dims) sizes.push_back(below(8) == 0 ? below(2) : 1 + below(5));
    base_ = {sizes, {}};
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    for (std::int64_t i = 0; i < count; ++i) base_.values.push_back(static_cast<std::int32_t>(i));
    steps_ = "from " + text(sizes);
  }

  std::string run() {
    Tensor base = got(from_data(place_, base_.sizes, base_.values));
    Tensor view = base;
    model_ = base_;
    for (std::int64_t left = 1 + below(10); left > 0; --left) {
      view = step(view);
      if (std::string wrong = check(view); !wrong.empty()) return steps_ + ": " + wrong;
    }
    return write(base, view);
  }

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  std::size_t any_dim() { return static_cast<std::size_t>(below(static_cast<std::int64_t>(model_.sizes.size()))); }
  // The same dimension, or its number from the end.
  std::int64_t either(std::size_t dim) {
    const auto number = static_cast<std::int64_t>(dim);
    return below(2) == 0 ? number : number - static_cast<std::int64_t>(model_.sizes.size());
  }
  Tensor got(Result<Tensor> result) {
    if (!result) throw std::runtime_error(steps_ + ": " + result.error().message);
    return *std::move(result);
  }
  void say(const std::string& what) { steps_ += ", " + what; }

  Tensor step(const Tensor& view) {
    const bool has_dims = !model_.sizes.empty();
    switch (below(10)) {
      case 0:
        return has_dims ? slice(view) : view;
      case 1:
        return has_dims ? select(view) : view;
      case 2:
        return has_dims ? narrow(view) : view;
      case 3:
        return has_dims ? transpose(view) : view;
      case 4:
        return permute(view);
      case 5:
        return reshape(view);
      case 6:
        return expand(view);
      case 7:
        return squeeze(view);
      case 8:
        return unsqueeze(view);
      default:
        return copy(view);
    }
  }

  Tensor slice(const Tensor& view) {
    const std::size_t dim = any_dim();
    const std::int64_t size = model_.sizes[dim];
    const std::int64_t begin = below(2 * size + 3) - size - 1;
    const std::int64_t end = below(2 * size + 3) - size - 1;
    const std::int64_t step = 1 + below(3);
    say("slice " + text({static_cast<std::int64_t>(dim), begin, end, step}));
    // As Python does it: the indices one by one.
    std::vector<std::int64_t> kept;
    const std::int64_t first = begin < 0 ? std::max<std::int64_t>(begin + size, 0) : begin;
    const std::int64_t last = end < 0 ? end + size : std::min(end, size);
    for (std::int64_t i = first; i < last; i += step) kept.push_back(i);
    Dims sizes = model_.sizes;
    sizes[dim] = static_cast<std::int64_t>(kept.size());
    const std::int64_t named = either(dim);
    model_ = model_.gather(sizes, [&](Dims index) {
      index[dim] = kept[static_cast<std::size_t>(index[dim])];
      return index;
    });
    return got(view.slice(named, begin, end, step));
  }

  Tensor select(const Tensor& view) {
    const std::size_t dim = any_dim();
    const std::int64_t size = model_.sizes[dim];
    if (size == 0) return view;
    const std::int64_t chosen = below(size);
    const std::int64_t named = either(dim);
    say("select " + text({named, chosen}));
    Dims sizes = model_.sizes;
    sizes.erase(dim);
    model_ = model_.gather(sizes, [&](Dims index) {
      index.insert(dim, chosen);
      return index;
    });
    return got(view.select(named, below(2) == 0 ? chosen : chosen - size));
  }

  Tensor narrow(const Tensor& view) {
    const std::size_t dim = any_dim();
    const std::int64_t start = below(model_.sizes[dim] + 1);
    const std::int64_t length = below(model_.sizes[dim] - start + 1);
    say("narrow " + text({static_cast<std::int64_t>(dim), start, length}));
    Dims sizes = model_.sizes;
    sizes[dim] = length;
    model_ = model_.gather(sizes, [&](Dims index) {
      index[dim] += start;
      return index;
    });
    return got(view.narrow(static_cast<std::int64_t>(dim), start, length));
  }

  Tensor transpose(const Tensor& view) {
    const std::size_t a = any_dim();
    const std::size_t b = any_dim();
    say("transpose " + text({static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)}));
    const Result<Tensor> turned = view.transpose(either(a), either(b));
    Dims sizes = model_.sizes;
    std::swap(sizes[a], sizes[b]);
    model_ = model_.gather(sizes, [&](Dims index) {
      std::swap(index[a], index[b]);
      return index;
    });
    return got(turned);
  }

  Tensor permute(const Tensor& view) {
    std::vector<std::size_t> order(model_.sizes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    Dims named;
    Dims sizes;
    for (const std::size_t dim : order) {
      named.push_back(static_cast<std::int64_t>(dim));
      sizes.push_back(model_.sizes[dim]);
    }
    say("permute " + text(named));
    model_ = model_.gather(sizes, [&](const Dims& index) {
      Dims source = index;
      for (std::size_t i = 0; i < order.size(); ++i) source[order[i]] = index[i];
      return source;
    });
    return got(view.permute(named));
  }

  // Sizes of the same count: the dimensions' factors shared out anew.
  Tensor reshape(const Tensor& view) {
    std::int64_t count = 1;
    for (const std::int64_t size : model_.sizes) count *= size;
    Dims sizes;
    std::int64_t left = count;
    for (std::int64_t dims = below(4); dims > 0 && left > 0; --dims) {
      std::vector<std::int64_t> divisors;
      for (std::int64_t i = 1; i <= left; ++i) {
        if (left % i == 0) divisors.push_back(i);
      }
      sizes.push_back(divisors[static_cast<std::size_t>(below(static_cast<std::int64_t>(divisors.size())))]);
      left /= sizes[sizes.size() - 1];
    }
    if (left != 1) sizes.push_back(left);
    say("reshape " + text(sizes));
    model_.sizes = sizes;
    const Result<Tensor> same = view.view(sizes);
    const Tensor result = got(view.reshape(sizes));
    if (result.shares_storage_with(view) != static_cast<bool>(same)) throw std::runtime_error(steps_ + ": copied?");
    return result;
  }

  Tensor expand(const Tensor& view) {
    if (model_.values.size() > 300) return view;
    Dims sizes = model_.sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1 && below(2) == 0) sizes[i] = below(4);
    }
    const std::size_t added = sizes.size() < 6 && below(2) == 0 ? 1 : 0;
    if (added == 1) sizes.insert(0, 1 + below(2));
    say("expand " + text(sizes));
    const Dims old = model_.sizes;
    model_ = model_.gather(sizes, [&](Dims index) {
      if (added == 1) index.erase(0);
      for (std::size_t i = 0; i < old.size(); ++i) index[i] = old[i] == 1 ? 0 : index[i];
      return index;
    });
    return got(view.expand(sizes));
  }

  Tensor squeeze(const Tensor& view) {
    say("squeeze");
    Dims sizes;
    for (const std::int64_t size : model_.sizes) {
      if (size != 1) sizes.push_back(size);
    }
    model_.sizes = sizes;
    return view.squeeze();
  }

  Tensor unsqueeze(const Tensor& view) {
    if (model_.sizes.size() >= 6) return view;
    const std::int64_t dim = below(static_cast<std::int64_t>(model_.sizes.size()) + 1);
    say("unsqueeze " + std::to_string(dim));
    model_.sizes.insert(static_cast<std::size_t>(dim), 1);
    return got(view.unsqueeze(dim));
  }

  Tensor copy(const Tensor& view) {
    if (below(3) != 0) return view;
    say("clone");
    return got(view.clone());
  }

  std::string check(const Tensor& view) {
    if (view.sizes() != model_.sizes) return "sizes " + text(view.sizes()) + ", not " + text(model_.sizes);
    const Result<std::vector<std::int32_t>> read = view.values<std::int32_t>();
    if (!read) return read.error().message;
    if (*read != model_.values) return "other values than a naive copy";
    const TensorBytes bytes = bytes_of(view);
    if (bytes.logical.count != 4 * model_.values.size()) return "logical bytes";
    if (bytes.spanned < bytes.reached || bytes.storage < bytes.spanned) return "more bytes than there are";
    return {};
  }

  // Writing through a view changes exactly the elements it shows.
  std::string write(const Tensor& base, const Tensor& view) {
    if (!view.shares_storage_with(base)) return {};
    const bool twice = overlaps_itself(view.layout());
    const std::set<std::int32_t> shown(model_.values.begin(), model_.values.end());
    if (twice != (shown.size() < model_.values.size())) return steps_ + ": overlaps itself?";
    // The base's elements are all different: a view reaches as many places as it has different values.
    if (bytes_of(view).reached.count != 4 * shown.size()) return steps_ + ": reached bytes";
    const Status filled = view.fill_(-1);
    if (static_cast<bool>(filled) == twice) return steps_ + ": fill_ and overlap";
    if (!filled) return {};
    std::vector<std::int32_t> wanted = base_.values;
    for (const std::int32_t element : shown) wanted[static_cast<std::size_t>(element)] = -1;
    const Result<std::vector<std::int32_t>> read = base.values<std::int32_t>();
    return read && *read == wanted ? std::string() : steps_ + ": written elsewhere";
  }

  std::mt19937_64 random_;
  Place place_;
  NaiveTensor base_;
  NaiveTensor model_;
  std::string steps_;
};

}  // namespace

std::string run_view_chain(const Place& place, std::uint64_t seed) {
  try {
    return Chain(place, seed).run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace quarry::tensor_tests
