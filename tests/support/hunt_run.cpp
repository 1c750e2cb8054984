#include "support/hunt_run.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/hunt_driver.h"
#include "support/hunt_pools.h"
#include "support/identities.h"
#include "support/paged_judge.h"
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
        allocator_(*Allocator::open(driver_, *parse_options(opening_text(program), {}, Origin::api))),
        pools_(allocator_, *device_) {
    for (std::size_t slot = 1; slot < kStreams; ++slot) {
      queues_[slot].handle = device_->create_stream();
      queues_[slot].stream = allocator_.stream(queues_[slot].handle);
    }
    driver_->meanwhile = [this] { meet(); };
    driver_->orders_under_lock = program.policy != Policy::pytorch;
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
    if (step.thread == outer_->thread || !can_meet(*outer_, step)) return;
    ++next_;
    ++coverage_.met_inside;
    const Step* outer = std::exchange(outer_, nullptr);  // one level deep
    perform(step);
    outer_ = outer;
    pools_.resume(outer->thread);
  }

  // A miss and what empties caches hold the grow lock, whoever asks for events the event lock; this thread would wait
  // for itself.
  // And a stream does not begin to capture while another thread has something to do on it.
  static bool can_meet(const Step& outer, const Step& inner) {
    const auto is = [](const Step& step, std::initializer_list<Act> acts) {
      return std::ranges::find(acts, step.act) != acts.end();
    };
    if (is(inner, {Act::capture, Act::fork}) && inner.stream == outer.stream) return false;
    return !is(outer, {Act::allocate, Act::empty_cache, Act::empty_pool}) ||
           !is(inner, {Act::allocate, Act::empty_cache, Act::empty_pool, Act::retire, Act::drop});
  }

  void perform(const Step& step) {
    pools_.resume(step.thread);
    switch (step.act) {
      case Act::allocate:
        return allocate(step);
      case Act::read:
      case Act::write:
        return use(step);
      case Act::free:
        // A program that frees a block while another thread tells of a use of it is wrong.
        if (used_ == step.block) return;
        blocks_.extract(step.block);  // out of the map first: others use it meanwhile
        return;
      case Act::note_wait:
        return note_wait(step);
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
      default:
        return perform_in_pool(step);
    }
  }

  void perform_in_pool(const Step& step) {
    const Queue queue = queues_[step.stream];
    switch (step.act) {
      case Act::begin_pool:
        if (!closing_[step.stream]) pools_.begin(step, queue);
        return;
      case Act::end_pool:
        return pools_.end(step.pool);
      case Act::release:
        return pools_.release(step.pool);
      case Act::empty_pool:
        (void)allocator_.empty_pool(Pools::id_of(step.pool));
        return;
      case Act::lend:
        return allocator_.set_pool_use_on_oom(Pools::id_of(step.pool));
      case Act::capture:
        if (!closing_[step.stream]) pools_.begin_capture(step, queue);
        return;
      case Act::fork:
        if (!closing_[step.stream]) pools_.fork(step, queue);
        return;
      case Act::end_capture:
        coverage_.captured += pools_.end_capture(step.thread);
        return;
      case Act::launch:
        if (!closing_[step.stream] && pools_.launch(step, queue)) ++coverage_.launched;
        return;
      default:
        return;
    }
  }

  void allocate(const Step& step) {
    if (closing_[step.stream] || !pools_.may_queue(step.thread, step.stream)) return;
    const Queue queue = queues_[step.stream];
    const std::vector<BlockView> others = foreign(queue);
    Result<Allocation> got = allocator_.allocate(pools_.request(step, queue));
    if (got) {
      ++coverage_.served;
      count_hand_over(got->address(), others);
      blocks_.emplace(step.block, pools_.track(step, queue, *std::move(got)));
    } else {
      ++coverage_.refused;
      if (got.error().code != ErrorCode::out_of_memory) failed_ = got.error().message;
    }
  }

  void use(const Step& step) {
    const auto found = blocks_.find(step.block);
    if (found == blocks_.end() || closing_[step.stream] || !pools_.may_queue(step.thread, step.stream)) return;
    const auto outer = std::exchange(used_, step.block);
    if (pools_.use(step, queues_[step.stream], found->second)) ++coverage_.uses;
    used_ = outer;
  }

  // The program makes one stream wait for another, and says so at once. A capturing stream would draw the other in.
  void note_wait(const Step& step) {
    if (closing_[step.stream] || closing_[step.amount] || step.stream == step.amount) return;
    const Queue& waiter = queues_[step.stream];
    const Queue& on = queues_[step.amount];
    if (device_->capture_open(waiter.handle).value || device_->capture_open(on.handle).value) return;
    const EventHandle event = device_->create_event().value;
    (void)device_->record(event, on.handle);
    (void)device_->wait_on_stream(waiter.handle, event);
    (void)device_->destroy_event(event);
    allocator_.note_wait(waiter.stream, on.stream);
  }

  // Free ranges that belong to other streams; only the paged policy has such.
  std::vector<BlockView> foreign(const Queue& queue) const {
    if (program_.policy == Policy::pytorch) return {};
    return paged::freed_by_others(allocator_.snapshot(), queue.stream.id());
  }
  void count_hand_over(Address block, const std::vector<BlockView>& ranges) {
    if (ranges.empty()) return;
    const paged::Pieces pieces = paged::pieces_of(allocator_.snapshot(), block, Bytes{1}, ranges);
    if (pieces.handed_over) ++coverage_.handed_over;
  }

  // Nobody queues work on a stream while it is on its way out.
  void renew(const Step& step) {
    if (closing_[step.stream] || pools_.capturing(step.stream)) return;
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
    pools_.close();
    std::vector<oracle::LiveBlock> live;
    for (const auto& [id, block] : blocks_) live.push_back({block.address(), block.size(), block.requested()});
    if (std::string what = oracle::broken_identity(allocator_, device_.get(), live, {}); !what.empty()) return what;
    blocks_.clear();
    for (std::uint32_t pool = 0; pool < kPools; ++pool) pools_.release(pool);
    (void)allocator_.empty_cache();
    if (std::string what = oracle::broken_identity(allocator_, device_.get(), {}, {}); !what.empty()) return what;
    if (allocator_.ledger().reserved != Bytes{}) return "bytes stay reserved when nothing lives";
    if (device_->in_use() != Bytes{}) return "the device holds bytes when nothing lives";
    const Counters counters = allocator_.counters();
    coverage_.alias_maps += counters[Tally::num_alias_maps];
    coverage_.stream_waits += counters[Tally::num_stream_waits];
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
  Pools pools_;
  std::array<Queue, kStreams> queues_{};
  std::array<bool, kStreams> closing_{};
  std::map<std::uint32_t, TrackedBlock> blocks_;
  std::size_t next_ = 0;               // step
  std::size_t end_inside_ = 0;         // of the outer step
  std::optional<std::uint32_t> used_;  // by the step that is being done
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
