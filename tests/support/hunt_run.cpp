#include "support/hunt_run.h"

#include <array>
#include <map>
#include <memory>
#include <utility>

#include "support/hunt_driver.h"
#include "support/identities.h"
#include "support/shrink.h"
#include "support/tracked_block.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/options.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::hunt {
namespace {

class Run {
 public:
  Run(const Program& program, Coverage& coverage)
      : program_(program),
        coverage_(coverage),
        // A release waits for all work, by the contract of the seam: what it orders is no hazard.
        device_(std::make_shared<sim::Device>(
            sim::DeviceOptions{.capacity = {program.capacity}, .profile = "free", .release_orders = true})),
        driver_(std::make_shared<Interrupted>(device_)),
        allocator_(*Allocator::open(driver_, *parse_options(settings_text(program.settings), {}, Origin::api))) {
    for (std::size_t slot = 1; slot < kStreams; ++slot) {
      queues_[slot].handle = device_->create_stream();
      queues_[slot].stream = allocator_.stream(queues_[slot].handle);
    }
    driver_->meanwhile = [this] { meet(); };
  }

  std::optional<Breach> play() {
    const std::vector<Step>& steps = program_.operations;
    while (next_ < steps.size()) {
      outer_ = &steps[next_++];
      end_inside_ = next_;
      while (end_inside_ < steps.size() && steps[end_inside_].inside) ++end_inside_;
      perform(*outer_);
      outer_ = nullptr;
      while (next_ < end_inside_) perform(steps[next_++]);
      if (std::string what = broken(); !what.empty()) return Breach{next_, std::move(what)};
    }
    if (std::string what = broken_end(); !what.empty()) return Breach{steps.size(), std::move(what)};
    return std::nullopt;
  }

 private:
  // In a driver call of the outer step: the next inner step, if the locks held there let its thread run.
  void meet() {
    if (outer_ == nullptr || next_ >= end_inside_) return;
    const Step& step = program_.operations[next_];
    if (step.thread == outer_->thread || !can_meet(*outer_, step.act)) return;
    ++next_;
    ++coverage_.met_inside;
    const Step* outer = std::exchange(outer_, nullptr);  // one level deep
    perform(step);
    outer_ = outer;
  }

  // A miss and empty_cache hold the grow lock, whoever asks for events the event lock; this thread would wait for
  // itself.
  static bool can_meet(const Step& outer, Act act) {
    const bool locked = outer.act == Act::allocate || outer.act == Act::empty_cache;
    return !locked || act == Act::read || act == Act::write || act == Act::free || act == Act::advance ||
           act == Act::configure;
  }

  void perform(const Step& step) {
    switch (step.act) {
      case Act::allocate:
        return allocate(step);
      case Act::read:
      case Act::write:
        return use(step);
      case Act::free:
        blocks_.extract(step.block);  // out of the map first: others use it meanwhile
        return;
      case Act::empty_cache:
        (void)allocator_.empty_cache();
        return;
      case Act::retire:
      case Act::drop:
        return renew(step);
      case Act::advance:
        return device_->advance(step.amount);
      case Act::configure:
        if (!allocator_.configure(settings_text(step.amount))) failed_ = "a good setting was refused";
        return;
    }
  }

  void allocate(const Step& step) {
    if (closing_[step.stream]) return;
    const Queue queue = queues_[step.stream];
    Result<Allocation> got = allocator_.allocate(step.amount, queue.stream);
    if (got) {
      ++coverage_.served;
      blocks_.emplace(step.block, TrackedBlock(*device_, *std::move(got), queue));
    } else {
      ++coverage_.refused;
      if (got.error().code != ErrorCode::out_of_memory) failed_ = got.error().message;
    }
  }

  void use(const Step& step) {
    const auto found = blocks_.find(step.block);
    if (found == blocks_.end() || closing_[step.stream]) return;
    found->second.use(queues_[step.stream], step.act == Act::write, step.amount);
    ++coverage_.uses;
  }

  // Nobody queues work on a stream while it is on its way out.
  void renew(const Step& step) {
    if (closing_[step.stream]) return;
    closing_[step.stream] = true;
    Queue& queue = queues_[step.stream];
    if (step.act == Act::retire) allocator_.retire(queue.stream);
    (void)device_->destroy_stream(queue.handle);
    queue.handle = device_->create_stream();
    queue.stream = allocator_.stream(queue.handle);
    closing_[step.stream] = false;
    ++coverage_.renewed;
  }

  std::string broken() {
    if (!failed_.empty()) return failed_;
    if (const auto hazards = device_->take_hazards(); !hazards.empty()) return "hazard: " + describe(hazards.front());
    return allocator_.validate();
  }

  std::string broken_end() {
    driver_->meanwhile = nullptr;
    std::vector<oracle::LiveBlock> live;
    for (const auto& [id, block] : blocks_) live.push_back({block.address(), block.size(), block.requested()});
    if (std::string what = oracle::broken_identity(allocator_, device_.get(), live, {}); !what.empty()) return what;
    blocks_.clear();
    (void)allocator_.empty_cache();
    if (std::string what = oracle::broken_identity(allocator_, device_.get(), {}, {}); !what.empty()) return what;
    if (allocator_.ledger().reserved != Bytes{}) return "bytes stay reserved when nothing lives";
    if (device_->in_use() != Bytes{}) return "the device holds bytes when nothing lives";
    const auto calls = device_->call_counts();
    coverage_.unmaps += calls[static_cast<std::size_t>(sim::Call::unmap)];
    coverage_.queries += calls[static_cast<std::size_t>(sim::Call::query)];
    return broken();
  }

  const Program& program_;
  Coverage& coverage_;
  std::shared_ptr<sim::Device> device_;
  std::shared_ptr<Interrupted> driver_;
  Allocator allocator_;
  std::array<Queue, kStreams> queues_{};
  std::array<bool, kStreams> closing_{};
  std::map<std::uint32_t, TrackedBlock> blocks_;
  std::size_t next_ = 0;        // step
  std::size_t end_inside_ = 0;  // of the outer step
  const Step* outer_ = nullptr;
  std::string failed_;
};

}  // namespace

std::optional<Breach> run(const Program& program, Coverage& coverage) { return Run(program, coverage).play(); }

std::optional<Breach> run(const Program& program) {
  Coverage coverage;
  return run(program, coverage);
}

std::string explain(const Program& program) {
  std::string what;
  const Program small = oracle::shrink(program, [&](const Program& candidate) -> std::size_t {
    const std::optional<Breach> breach = run(candidate);
    if (!breach) return 0;
    what = breach->what;
    return breach->operations;
  });
  return what + "\n" + to_text(small);
}

}  // namespace quarry::hunt
