#include "tools/demo/sharing.h"

#include <optional>
#include <utility>

#include <quarry/tensor/ops.h>

#include "tools/demo/in_order.h"
#include "tools/demo/process_memory.h"

namespace quarry::tools {
namespace {

constexpr const char* kWritten = "[500:, 500:]";  // the view that 1 is written through

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// `make` gives a view of a view, or an error that goes through.
template <class Make>
Result<Tensor> then(const Result<Tensor>& from, Make make) {
  return from ? make(*from) : from;
}

// Of `base`, which is the first of them.
Result<std::vector<NamedTensor>> make_views(const Tensor& base) {
  const auto last_half = [](const Tensor& t) { return t.slice(1, 500); };
  std::vector<std::pair<std::string, Result<Tensor>>> made = {
      {"base", base},
      {"view(500, 2000)", base.view({500, 2000})},
      {"[:500, :500]", then(base.slice(0, 0, 500), [](const Tensor& t) { return t.slice(1, 0, 500); })},
      {kWritten, then(base.slice(0, 500), last_half)},
      {"transpose(0, 1)", base.transpose(0, 1)},
      {"[:1].expand(1000, 1000)", then(base.slice(0, 0, 1),
                                       [](const Tensor& t) {
                                         return t.expand({1000, 1000});
                                       })},
      {"clone()", base.clone()}};
  std::vector<NamedTensor> views;
  for (auto& [name, tensor] : made) {
    if (!tensor) return tensor.error();
    views.push_back({name, *std::move(tensor)});
  }
  return views;
}

Result<std::vector<NamedTensor>> make_base_and_views(const Place& place) {
  const Result<Tensor> base = zeros(place, {1000, 1000});
  if (!base) return base.error();
  return make_views(*base);
}

Result<ViewRow> describe(const NamedTensor& named, const Tensor& base) {
  const Tensor& t = named.tensor;
  const Result<Tensor> total = sum(t);
  if (!total) return total.error();
  const Result<double> value = total->item();
  if (!value) return value.error();
  return ViewRow{named.name,
                 t.sizes(),
                 t.strides(),
                 t.offset(),
                 t.is_dense(),
                 t.data() == base.data(),
                 t.shares_storage_with(base),
                 bytes_of(t),
                 *value};
}

Status show_views(const DemoDevice& device, SharingDemo& demo) {
  const Result<Place> place = open_demo_place(device);
  if (!place) return place.error();
  const Result<std::vector<NamedTensor>> views = make_base_and_views(*place);
  if (!views) return views.error();
  const Tensor& base = views->front().tensor;
  demo.users = storage_users(base);
  for (const NamedTensor& view : *views) {
    if (view.name != kWritten) continue;
    if (Status done = view.tensor.fill_(1); !done) return done;
  }
  for (const NamedTensor& view : *views) {
    Result<ViewRow> row = describe(view, base);
    if (!row) return row.error();
    demo.views.push_back(*std::move(row));
  }
  return Done{};
}

// The story of the slice, step by step.
class KeptSlice {
 public:
  explicit KeptSlice(Place place) : place_(std::move(place)) {}

  Result<std::vector<KeptStep>> run() {
    const Status done =
        in_order({[&] { return note("before", {}); }, [&] { return make_large(); }, [&] { return cut_slice(); },
                  [&] { return drop_large(); }, [&] { return clone_slice(); }, [&] { return empty_cache(); }});
    if (!done) return done.error();
    return steps_;
  }

 private:
  Status note(std::string name, const std::optional<Tensor>& seen) {
    const Result<ProcessMemory> process = read_process_memory();
    if (!process) return process.error();
    const Ledger ledger = place_.memory().ledger();
    const TensorBytes bytes = seen ? bytes_of(*seen) : TensorBytes{};
    steps_.push_back(
        {std::move(name), bytes.logical, bytes.storage, ledger.allocated, ledger.reserved, process->resident});
    return Done{};
  }

  Status make_large() {
    Result<Tensor> made = empty(place_, {20000, 30000});
    if (!made) return made.error();
    large_ = *std::move(made);
    return note("large = empty(20000, 30000)", large_);
  }
  Status cut_slice() {
    Result<Tensor> cut = then(large_->slice(0, 0, 10), [](const Tensor& t) { return t.slice(1, 0, 10); });
    if (!cut) return cut.error();
    slice_ = *std::move(cut);
    if (Status done = slice_->fill_(1); !done) return done;
    return note("small = large[:10, :10], filled", slice_);
  }
  Status drop_large() {
    large_.reset();
    return note("large is gone, small is not", slice_);
  }
  Status clone_slice() {
    Result<Tensor> copy = slice_->clone();
    if (!copy) return copy.error();
    slice_ = *std::move(copy);
    return note("small = small.clone()", slice_);
  }
  Status empty_cache() {
    place_.memory().empty_cache();
    return note("empty_cache()", slice_);
  }

  Place place_;
  std::optional<Tensor> large_;
  std::optional<Tensor> slice_;
  std::vector<KeptStep> steps_;
};

}  // namespace

Result<SharingDemo> run_sharing_demo(const DemoDevice& device) {
  SharingDemo demo;
  if (Status done = show_views(device, demo); !done) return done.error();
  const Result<Place> host = open_demo_place({"host", "where resident memory can be seen"});
  if (!host) return host.error();
  Result<std::vector<KeptStep>> kept = KeptSlice(*host).run();
  if (!kept) return kept.error();
  demo.kept = *std::move(kept);
  return demo;
}

}  // namespace quarry::tools
