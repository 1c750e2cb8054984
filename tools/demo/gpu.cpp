#include "tools/demo/gpu.h"

#include <utility>

#include <quarry/tensor/tensor.h>

#include "tools/demo/in_order.h"

namespace quarry::tools {
namespace {

Status add_tensors(std::vector<Tensor>& tensors, const Place& place, const Dims& sizes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Result<Tensor> made = empty(place, sizes);
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  return Done{};
}

// Frees the second, the fourth, and so on.
void free_every_second(std::vector<Tensor>& tensors) {
  std::vector<Tensor> kept;
  for (std::size_t i = 0; i < tensors.size(); i += 2) kept.push_back(tensors[i]);
  tensors = std::move(kept);
}

Status run_steps(const DemoDevice& device, GpuDemo& demo) {
  const Result<Place> place = open_demo_place(device);
  if (!place) return place.error();
  Allocator& memory = place->memory();
  const auto note = [&](const std::string& name) { demo.steps.push_back({name, memory.ledger()}); };
  std::vector<Tensor> tensors;
  note("before");
  if (Status done = add_tensors(tensors, *place, demo.sizes, demo.tensors); !done) return done;
  demo.storage = tensors.front().storage()->size();
  note("five tensors");
  free_every_second(tensors);
  note("the 2nd and 4th freed");
  memory.reset_peak();
  note("reset_peak");
  memory.empty_cache();
  note("empty_cache");
  if (Status done = add_tensors(tensors, *place, demo.sizes, 1); !done) return done;
  note("one more tensor");
  tensors.clear();
  note("all freed");
  memory.empty_cache();
  note("empty_cache again");
  return Done{};
}

Status run_holes(const DemoDevice& device, HolesRun& run) {
  Options options;
  options.policy = run.policy;
  const Result<Place> place = open_demo_place(device, options);
  if (!place) return place.error();
  Allocator& memory = place->memory();
  std::vector<Tensor> tensors;
  if (Status done = add_tensors(tensors, *place, run.sizes, run.tensors); !done) return done;
  run.full = memory.ledger();
  free_every_second(tensors);
  run.holes = memory.ledger();
  run.freed = run.full.requested - run.holes.requested;
  if (Status done = add_tensors(tensors, *place, {run.tensors / 2, run.sizes[0], run.sizes[1]}, 1); !done) return done;
  run.larger = memory.ledger();
  run.grown = run.larger.reserved - run.holes.reserved;
  return Done{};
}

Status run_all_holes(const DemoDevice& device, GpuDemo& demo) {
  for (const auto& [tensors, sizes] : {std::pair{5, Dims{2000, 2000}}, std::pair{40, Dims{350, 350}}}) {
    for (const Policy policy : {Policy::paged, Policy::pytorch}) {
      HolesRun& run = demo.holes.emplace_back();
      run.policy = policy;
      run.tensors = tensors;
      run.sizes = sizes;
      if (Status done = run_holes(device, run); !done) return done;
    }
  }
  return Done{};
}

}  // namespace

Result<GpuDemo> run_gpu_demo(const DemoDevice& device) {
  GpuDemo demo;
  const Status done = in_order({[&] { return run_steps(device, demo); }, [&] { return run_all_holes(device, demo); }});
  if (!done) return done.error();
  return demo;
}

}  // namespace quarry::tools
