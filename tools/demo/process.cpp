#include "tools/demo/process.h"

#include <utility>

#include <quarry/allocator/allocator.h>
#include <quarry/tensor/tensor.h>

#include "tools/demo/in_order.h"
#include "tools/demo/place.h"

namespace quarry::tools {
namespace {

// The five steps in the memory of `place`.
class ProcessSteps {
 public:
  ProcessSteps(Place place, const ProcessDemo& demo) : place_(std::move(place)), demo_(demo) {}

  Result<std::vector<ProcessStep>> run() {
    const Status done = in_order({[&] { return note("before"); }, [&] { return allocate(); }, [&] { return touch(); },
                                  [&] { return free(); }, [&] { return empty_cache(); }});
    if (!done) return done.error();
    return steps_;
  }
  Bytes storage() const { return storage_; }
  const std::string& device() const { return device_; }

 private:
  Status note(std::string name) {
    const Ledger ledger = place_.memory().ledger();
    const Result<ProcessMemory> process = read_process_memory();
    if (!process) return process.error();
    const Bytes pinned = place_.kind() == PlaceKind::pinned ? ledger.reserved : Bytes{};
    steps_.push_back({std::move(name), *process, pinned, ledger.allocated, ledger.reserved});
    return Done{};
  }
  Status allocate() {
    for (std::int64_t i = 0; i < demo_.tensors; ++i) {
      Result<Tensor> made = empty(place_, demo_.sizes);
      if (!made) return made.error();
      storage_ += made->storage()->size();
      tensors_.push_back(*std::move(made));
    }
    return note("allocated");
  }
  Status touch() {
    for (const Tensor& tensor : tensors_) {
      if (Status done = tensor.fill_(1); !done) return done;
    }
    device_ = place_.memory().stats().device;
    return note("touched");
  }
  Status free() {
    tensors_.clear();
    return note("freed");
  }
  Status empty_cache() {
    place_.memory().empty_cache();
    return note("emptied");
  }

  Place place_;
  const ProcessDemo& demo_;
  std::vector<Tensor> tensors_;
  std::vector<ProcessStep> steps_;
  Bytes storage_;
  std::string device_;
};

Result<Place> open_pinned_place() {
  const Result<Allocator> gpu = open_device(0);
  Result<Allocator> memory = gpu ? open_pinned(*gpu) : open_pinned();
  if (!memory) return memory.error();
  return Place::pinned(*std::move(memory));
}

Status add_run(ProcessDemo& demo, const std::string& memory, const Result<Place>& place) {
  if (!place) return place.error();
  ProcessSteps steps(*place, demo);
  Result<std::vector<ProcessStep>> made = steps.run();
  if (!made) return made.error();
  demo.storage = steps.storage();
  demo.runs.push_back({memory, steps.device(), *std::move(made)});
  return Done{};
}

}  // namespace

Result<ProcessDemo> run_process_demo() {
  ProcessDemo demo;
  const Result<Place> pageable = open_demo_place({"host", "what this process has"});
  if (Status done = add_run(demo, "pageable", pageable); !done) return done.error();
  if (Status done = add_run(demo, "pinned", open_pinned_place()); !done) return done.error();
  return demo;
}

}  // namespace quarry::tools
