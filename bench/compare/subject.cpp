#include "bench/compare/subject.h"

#include <array>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/check.h>

#include "bench/compare/device.h"
#include "bench/peers/cub.h"
#include "bench/peers/map_best_fit.h"

namespace quarry::bench {
namespace {

// As a foreign interface uses quarry: plain pointers, sized frees.
class Quarry {
 public:
  explicit Quarry(const Options& options) : gpu_(open(options)) {}

  void enter() {}
  void* allocate(std::size_t bytes) {
    const Result<void*> pointer = gpu_.allocate_raw(bytes);
    return pointer ? *pointer : nullptr;
  }
  void deallocate(void* pointer, std::size_t bytes) { gpu_.deallocate(pointer, bytes, {}); }

  Books books() const {
    const Stat stat = gpu_.counters()[Metric::allocation].all;
    return {static_cast<std::uint64_t>(stat.allocated + stat.freed), static_cast<std::uint64_t>(stat.current)};
  }
  std::vector<CallCount> driver_calls() const { return {}; }

 private:
  static Allocator open(const Options& options) {
    Result<Allocator> opened = Allocator::open(simulated_device(), options);
    QUARRY_CHECK(opened, "quarry opens on the simulated device");
    return *std::move(opened);
  }

  Allocator gpu_;
};

class BestFit {
 public:
  void enter() {}
  void* allocate(std::size_t bytes) { return memory_.allocate(Bytes{bytes}); }
  void deallocate(void* pointer, std::size_t /*bytes*/) { memory_.deallocate(pointer); }
  Books books() const { return {memory_.operations(), memory_.live()}; }
  std::vector<CallCount> driver_calls() const { return {}; }

 private:
  MapBestFit memory_{simulated_device()};
};

Options paged(PlacementRule rule) {
  Options options;
  options.policy = Policy::paged;
  options.placement = rule;
  return options;
}

Options pytorch() {
  Options options;
  options.policy = Policy::pytorch;
  return options;
}

std::unique_ptr<Subject> open_quarry(const Options& options) { return std::make_unique<SubjectOf<Quarry>>(options); }

struct Kind {
  std::string_view name;
  std::unique_ptr<Subject> (*open)();
};
constexpr std::array kKinds = {
    Kind{kFast, [] { return open_quarry(paged(PlacementRule::fast)); }},
    Kind{kTight, [] { return open_quarry(paged(PlacementRule::tight)); }},
    Kind{"cub", [] { return open_cub(CudaEvents::simulated); }},
    Kind{"cub, instant events", [] { return open_cub(CudaEvents::instant); }},
    Kind{"std::map best fit", []() -> std::unique_ptr<Subject> { return std::make_unique<SubjectOf<BestFit>>(); }},
    Kind{kPytorch, [] { return open_quarry(pytorch()); }},
};

}  // namespace

std::vector<std::string_view> subject_names() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

std::unique_ptr<Subject> open_subject(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind.open();
  }
  return nullptr;
}

}  // namespace quarry::bench
