#include "support/hunt_pools.h"

#include <algorithm>
#include <utility>

namespace quarry::hunt {

Pools::Pools(Allocator& allocator, sim::Device& device) : allocator_(allocator), device_(device) {
  for (Queue& branch : branches_) branch.handle = device_.create_stream();
}

// Scopes
// ---------------------------------------------------------------------------------------------------------------

// A pool that was released is refused until its last segment is gone.
bool Pools::acquired(std::uint32_t number, PoolScope scope, Stream stream) {
  Pool& pool = pools_[number];
  if (pool.scoped || !allocator_.begin_pool(id_of(number), scope, stream)) return false;
  if (pool.users++ == 0) pool.order = std::make_shared<UseOrder>(device_);
  pool.scoped = true;
  return true;
}

// Not where the new scope, the last one, would take the requests of a capture.
void Pools::begin(const Step& step, const Queue& queue) {
  const bool of_stream = step.amount != 0;
  const bool takes_captured =
      of_stream ? capturing(step.stream) : std::ranges::any_of(taken_, [](auto* c) { return c; });
  if (takes_captured) return;
  (void)acquired(step.pool, of_stream ? PoolScope::stream : PoolScope::process, queue.stream);
}

void Pools::end(std::uint32_t number) {
  Pool& pool = pools_[number];
  const bool captured =
      std::ranges::any_of(captures_, [&](const auto& c) { return c != nullptr && c->pool == number; });
  if (!pool.scoped || captured) return;
  pool.scoped = false;
  (void)allocator_.end_pool(id_of(number));
}

// Its graphs run no more. The program waits for them: the allocator never heard of the streams they ran on.
void Pools::release(std::uint32_t number) {
  Pool& pool = pools_[number];
  if (pool.scoped || pool.users == 0) return;
  pool.graphs.clear();
  pool.order->finish();
  for (; pool.users > 0; --pool.users) (void)allocator_.release_pool(id_of(number));
}

// Captures
// -------------------------------------------------------------------------------------------------------------

void Pools::begin_capture(const Step& step, const Queue& queue) {
  if (capture_of(step.thread) != nullptr || capturing(step.stream)) return;
  if (!acquired(step.pool, PoolScope::stream, queue.stream)) return;
  captures_[step.thread] =
      std::make_unique<Capture>(Capture{step.pool, {{step.stream, queue}}, {}, Graph(step.stream)});
  taken_[step.stream] = capture_of(step.thread);
  (void)device_.begin_capture(queue.handle);
  current_[step.thread] = queue.stream;
  resume(step.thread);
}

void Pools::fork(const Step& step, const Queue& queue) {
  Capture* const capture = captures_[step.thread].get();
  if (capture == nullptr || capturing(step.stream)) return;
  follow(device_, queue, capture->branches.front().second);
  capture->branches.emplace_back(step.stream, queue);
  capture->graph.fork(step.stream);
  taken_[step.stream] = capture;
}

std::uint64_t Pools::end_capture(std::uint32_t thread) {
  if (captures_[thread] == nullptr) return 0;
  const std::unique_ptr<Capture> capture = std::move(captures_[thread]);
  const Queue& origin = capture->branches.front().second;
  for (const auto& [slot, queue] : capture->branches) {
    if (queue.handle != origin.handle) follow(device_, origin, queue);
    taken_[slot] = nullptr;
  }
  (void)device_.end_capture(origin.handle);
  current_[thread] = Stream{};
  resume(thread);
  const std::uint64_t uses = capture->graph.uses();
  Pool& pool = pools_[capture->pool];
  if (uses != 0) pool.graphs.push_back(std::move(capture->graph));
  (void)allocator_.end_pool(id_of(capture->pool));
  pool.scoped = false;
  return uses;
}

bool Pools::launch(const Step& step, const Queue& queue) {
  const Pool& pool = pools_[step.pool];
  if (pool.graphs.empty() || capturing(step.stream)) return false;
  pool.order->wait(queue, true);
  pool.graphs[step.amount % pool.graphs.size()].launch(device_, queue, branches_);
  pool.order->note(queue, true);
  return true;
}

void Pools::close() {
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    resume(thread);
    (void)end_capture(thread);
  }
  for (std::uint32_t pool = 0; pool < kPools; ++pool) end(pool);
}

// Requests and uses
// ----------------------------------------------------------------------------------------------------

// The scope of a capture takes the requests on the stream that began it; on a branch the pool is named.
Request Pools::request(const Step& step, const Queue& queue) const {
  Request request{.size = {step.amount}, .stream = queue.stream};
  const Capture* const capture = taken_[step.stream];
  if (capture != nullptr && capture->branches.front().first != step.stream) request.pool = id_of(capture->pool);
  return request;
}

TrackedBlock Pools::track(const Step& step, const Queue& queue, Allocation block) {
  if (!capturing(step.stream)) return {device_, std::move(block), queue};
  Capture& capture = *captures_[step.thread];
  capture.blocks.insert(step.block);
  capture.graph.allocate(step.stream, step.block);
  return {device_, std::move(block), queue, pools_[capture.pool].order};
}

bool Pools::use(const Step& step, const Queue& queue, TrackedBlock& block) {
  const bool writes = step.act == Act::write;
  if (!capturing(step.stream)) {
    const bool in_capture =
        std::ranges::any_of(captures_, [&](const auto& c) { return c != nullptr && c->blocks.contains(step.block); });
    if (!in_capture) block.use(queue, writes, step.amount);
    return !in_capture;
  }
  Capture& capture = *captures_[step.thread];
  if (!capture.blocks.contains(step.block)) return false;
  capture.graph.use(step.stream, step.block, block.range(), writes, step.amount);
  block.tell(queue);
  return true;
}

}  // namespace quarry::hunt
