#include "support/paged_session.h"

#include <algorithm>
#include <utility>

namespace quarry::paged {
namespace {

PoolId pool_id(std::uint32_t pool) { return {0, pool}; }

}  // namespace

sim::DeviceOptions device_options(const Start& start) {
  return {.capacity = start.capacity,
          .granularity = start.page,
          .profile = "free",
          .page_granularity = start.page,
          .mapping = start.mapping,
          .release_orders = true};
}

Options allocator_options(const Start& start) {
  Options options;
  options.policy = Policy::paged;
  options.placement = start.placement;
  options.stream_waits = start.waits;
  options.page_size = start.page;
  return options;
}

Session::Session(const Start& start, std::shared_ptr<sim::Device> device, Allocator allocator)
    : start_(start), device_(std::move(device)), allocator_(std::move(allocator)) {
  for (std::size_t slot = 1; slot < kStreams; ++slot) {
    queues_[slot].handle = device_->create_stream();
    queues_[slot].stream = allocator_.stream(queues_[slot].handle);
  }
}

void Session::perform(const Step& step) {
  switch (step.act) {
    case Act::allocate:
      return allocate(step);
    case Act::read:
    case Act::write:
      return use(step);
    case Act::free:
      return free(step.block);
    case Act::wait:
      return wait(queues_[step.stream], queues_[step.other]);
    case Act::advance:
      return device_->advance(step.amount);
    case Act::empty_cache:
      return empty_cache();
    case Act::retire:
      return retire(step.stream);
    case Act::outside:
      return device_->set_outside({step.amount});
    case Act::stream_waits:
      waits_ = step.amount;
      return configure();
    case Act::limit:
      limit_mib_ = step.amount;
      return configure();
    case Act::fraction:
      return set_fraction(static_cast<double>(step.amount) / 100);
    default:
      return about_pools(step);
  }
}

void Session::unwind() {
  while (!blocks_.empty()) free(blocks_.begin()->first);
  while (!scopes_.empty()) end_pool(scopes_.back().pool);
  for (std::uint32_t pool = 1; pool < kPools; ++pool) {
    while (users_[pool] != 0) release_pool(pool);
  }
}

std::vector<oracle::LiveBlock> Session::live() const {
  std::vector<oracle::LiveBlock> live;
  for (const auto& [id, block] : blocks_) live.push_back({block.address(), block.size(), block.requested()});
  return live;
}

// Blocks --------------------------------------------------------------------------------------------------------------

void Session::allocate(const Step& step) {
  if (step.pool != 0 && users_[step.pool] == 0) return;
  const Request request{.size = {step.amount},
                        .stream = queues_[step.stream].stream,
                        .pool = pool_id(step.pool),
                        .contiguous = step.flag};
  Allocation got = ask(step, request, step.pool != 0 ? step.pool : scope_of(step.stream));
  if (got) blocks_.emplace(step.block, hunt::TrackedBlock(*device_, std::move(got), queues_[step.stream]));
}

void Session::use(const Step& step) {
  const auto found = blocks_.find(step.block);
  if (found == blocks_.end()) return;
  const hunt::Queue& queue = queues_[step.stream];
  found->second.use(queue, step.act == Act::write, step.amount);
  if (queue.stream.id() != found->second.owner()) coupled_.insert({queue.stream.id(), found->second.owner()});
}

void Session::free(std::uint32_t id) {
  const auto found = blocks_.find(id);
  if (found == blocks_.end()) return;
  void* const pointer = found->second.release();  // a failed check must not end in a destructor
  blocks_.erase(found);
  allocator_.deallocate(pointer);
}

// Streams -------------------------------------------------------------------------------------------------------------

void Session::wait(const hunt::Queue& waiter, const hunt::Queue& on) {
  if (waiter.stream.id() == on.stream.id()) return;
  const EventHandle event = device_->create_event().value;
  (void)device_->record(event, on.handle);
  (void)device_->wait_on_stream(waiter.handle, event);
  (void)device_->destroy_event(event);
  allocator_.note_wait(waiter.stream, on.stream);
  coupled_.insert({waiter.stream.id(), on.stream.id()});
}

void Session::retire(std::uint32_t slot) {
  if (slot == 0) return;
  hunt::Queue& queue = queues_[slot];
  allocator_.retire(queue.stream);
  (void)device_->destroy_stream(queue.handle);
  queue.handle = device_->create_stream();
  queue.stream = allocator_.stream(queue.handle);
}

// Settings and pools --------------------------------------------------------------------------------------------------

void Session::configure() {
  static constexpr std::array kWaits = {"none", "few", "all"};
  std::string text = std::string("stream_waits:") + kWaits[waits_];
  text += ",memory_limit_mb:" + (limit_mib_ == 0 ? "unlimited" : std::to_string(limit_mib_));
  if (const Status set = allocator_.configure(text); !set) fail("a good setting was refused: " + set.error().message);
}

void Session::set_fraction(double fraction) {
  if (const Status set = allocator_.set_memory_fraction(fraction); !set) refused(set.error());
}

std::uint32_t Session::scope_of(std::uint32_t stream) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (!scope->by_stream || scope->stream == stream_id(stream)) return scope->pool;
  }
  return 0;
}

bool Session::has_scope(std::uint32_t pool) const {
  return std::ranges::find(scopes_, pool, &Scope::pool) != scopes_.end();
}

void Session::about_pools(const Step& step) {
  switch (step.act) {
    case Act::begin_pool:
      return begin_pool(step);
    case Act::end_pool:
      return end_pool(step.pool);
    case Act::release_pool:
      if (users_[step.pool] > (has_scope(step.pool) ? 1u : 0u)) release_pool(step.pool);
      return;
    case Act::empty_pool:
      (void)allocator_.empty_pool(pool_id(step.pool));
      return;
    default:
      if (users_[step.pool] != 0 && allocator_.set_pool_no_split(pool_id(step.pool))) no_split_[step.pool] = true;
      return;
  }
}

// Refused while it still holds what it held before its release.
void Session::begin_pool(const Step& step) {
  if (has_scope(step.pool)) return;
  const hunt::Queue& queue = queues_[step.stream];
  const PoolScope kind = step.flag ? PoolScope::stream : PoolScope::process;
  if (!allocator_.begin_pool(pool_id(step.pool), kind, queue.stream)) return;
  if (users_[step.pool]++ == 0) no_split_[step.pool] = false;
  pools_begun_ = true;
  scopes_.push_back({step.pool, step.flag, queue.stream.id()});
}

void Session::end_pool(std::uint32_t pool) {
  if (!has_scope(pool)) return;
  if (!allocator_.end_pool(pool_id(pool))) fail("a scope was not ended");
  std::erase_if(scopes_, [&](const Scope& scope) { return scope.pool == pool; });
}

void Session::release_pool(std::uint32_t pool) {
  if (!allocator_.release_pool(pool_id(pool))) fail("a pool was not released");
  --users_[pool];
}

}  // namespace quarry::paged
