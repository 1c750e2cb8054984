// A block as a correct program uses it on a simulated device: a stream waits for what earlier streams did to the block,
// and the allocator is told of every stream but the block's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

#include "support/use_order.h"

namespace quarry::hunt {

class TrackedBlock {
 public:
  // The order on `owner` at this instant is what other streams have to wait for.
  TrackedBlock(sim::Device& device, Allocation block, const Queue& owner)
      : TrackedBlock(device, std::move(block), owner, std::make_shared<UseOrder>(device), false) {
    order_->note(owner, true);
  }
  // One of several whose uses follow each other, all of them, as `order` says.
  TrackedBlock(sim::Device& device, Allocation block, const Queue& owner, std::shared_ptr<UseOrder> order)
      : TrackedBlock(device, std::move(block), owner, std::move(order), true) {}

  Address address() const { return block_.address(); }
  Bytes size() const { return {block_.block_size()}; }
  Bytes requested() const { return {block_.size()}; }
  sim::ByteRange range() const { return {block_.address(), {block_.size()}}; }
  void* data() const { return block_.data(); }
  StreamId owner() const { return owner_; }
  // The caller frees it with Allocator::deallocate.
  [[nodiscard]] void* release() { return block_.release(); }

  // Queues work that reads or writes all of it; `effect` runs when the work ends.
  void use(const Queue& queue, bool writes, std::uint64_t duration_ns, std::function<void()> effect = {}) {
    order_->wait(queue, writes || together_);
    using Ranges = std::vector<sim::ByteRange>;
    device_->work(queue.handle, duration_ns, writes ? Ranges{} : Ranges{range()}, writes ? Ranges{range()} : Ranges{},
                  std::move(effect));
    order_->note(queue, writes || together_);
    tell(queue);
  }
  // Tells the allocator of a use.
  void tell(const Queue& queue) {
    if (queue.stream.id() != owner_) block_.used_on(queue.stream);
  }

 private:
  TrackedBlock(sim::Device& device, Allocation block, const Queue& owner, std::shared_ptr<UseOrder> order,
               bool together)
      : device_(&device),
        block_(std::move(block)),
        owner_(owner.stream.id()),
        order_(std::move(order)),
        together_(together) {}

  sim::Device* device_;
  Allocation block_;
  StreamId owner_;
  std::shared_ptr<UseOrder> order_;
  bool together_;
};

}  // namespace quarry::hunt
