#include "tools/cases/session.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/cases/call_text.h"
#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

sim::DeviceOptions device_options(const Case& one) {
  sim::DeviceOptions options;
  options.capacity = one.capacity;
  options.record_calls = true;
  return options;
}

// Every stream that the case names.
std::set<CaseStream> streams_of(const Case& one) {
  std::set<CaseStream> used{0};
  for (const Step& step : one.steps) {
    if (const auto* alloc = std::get_if<op::Alloc>(&step.operation)) used.insert(alloc->stream);
    if (const auto* record = std::get_if<op::Record>(&step.operation)) used.insert(record->stream);
    if (const auto* control = std::get_if<op::StreamControl>(&step.operation)) used.insert(control->stream);
    if (const auto* capture = std::get_if<op::Capture>(&step.operation)) used.insert(capture->stream);
  }
  return used;
}

PoolId pool_id(CasePool pool) { return {0, pool}; }

}  // namespace

Session::Session(const Case& one, const MakeSimBackend& make_backend)
    : capacity_(one.capacity), backend_(make_backend(device_options(one))), watcher_(stream_names_) {
  device_->set_outside(one.context);
  device_->set_script(&addresses_);
}

Session::~Session() {
  if (!allocator_) return;
  allocator_->detach();
  for (auto& [id, block] : names_) {
    if (block.use_count() == 1) give_back(*block);
    block.reset();
  }
}

Status Session::open(const Case& one, const Options& base) {
  const auto options = parse_options(one.config, base, Origin::environment);
  if (!options) return options.error();
  auto opened = Allocator::open(backend_.driver, *options);
  if (!opened) return opened.error();
  allocator_ = *std::move(opened);
  allocator_->attach(watcher_);
  // In the order of their numbers: where an order among streams matters it is that of their numbers.
  for (const CaseStream name : streams_of(one)) {
    const Stream stream = allocator_->stream(handle_of(name));
    streams_.emplace(name, stream);
    stream_names_.add(name, stream.id());
  }
  for (const Step& step : one.steps) {
    if (const auto* pool = std::get_if<op::Pool>(&step.operation)) pools_.insert(pool_id(pool->pool));
  }
  make_current(0);
  device_->take_calls();
  return Done{};
}

void Session::make_current(CaseStream stream) {
  current_ = stream;
  allocator_->make_current(streams_.at(stream));
}

void Session::give_back(Block& block) {
  if (block.owned) {
    block.owned.reset();
  } else {
    allocator_->deallocate(block.pointer);
  }
}

void Session::free_name(const std::string& id, Seen& seen) {
  const auto found = names_.find(id);
  seen.skip = found == names_.end();
  if (seen.skip) return;
  const std::shared_ptr<Block> block = std::move(found->second);
  names_.erase(found);
  if (block.use_count() == 1) give_back(*block);
}

std::int64_t Session::allocated_bytes() const { return allocator_->counters()[Metric::allocated_bytes].all.current; }

// The block's size is what the statistics counted for it.
Place Session::place_of_new(Address address, std::int64_t allocated_before) const {
  Place place = NumberedAddresses::place(address);
  place.size = static_cast<std::uint64_t>(allocated_bytes() - allocated_before);
  return place;
}

struct Session::Apply {
  Session& session;
  Seen& seen;

  Allocator& allocator() const { return *session.allocator_; }

  // Notes the failure of a call that gives nothing but success.
  Status note(const Status& status) const {
    if (!status) seen.error = status.error();
    return Done{};
  }

  template <class Given>
  bool given(const Result<Given>& result) const {
    if (!result) seen.error = result.error();
    session.served_ = static_cast<bool>(result);
    return *session.served_;
  }

  Status fresh(const std::string& id) const {
    if (!session.names_.contains(id)) return Done{};
    return invalid(fmt::format("the name {} is in use", quoted(id)));
  }

  Status operator()(const op::Alloc& alloc) const {
    if (const Status is_new = fresh(alloc.id); !is_new) return is_new;
    const std::int64_t before = session.allocated_bytes();
    const auto pointer = allocator().allocate_raw(alloc.size.count, session.streams_.at(alloc.stream));
    if (given(pointer)) keep(alloc.id, std::make_shared<Block>(Block{*pointer, {}}), before);
    return Done{};
  }
  Status operator()(const op::Allocate& alloc) const {
    if (const Status is_new = fresh(alloc.id); !is_new) return is_new;
    const std::int64_t before = session.allocated_bytes();
    auto block = allocator().allocate(alloc.size.count, session.streams_.at(session.current_));
    if (given(block)) keep(alloc.id, std::make_shared<Block>(Block{block->data(), std::move(*block)}), before);
    return Done{};
  }
  void keep(const std::string& id, std::shared_ptr<Block> block, std::int64_t allocated_before) const {
    seen.null = block->pointer == nullptr;
    const Address address{reinterpret_cast<std::uintptr_t>(block->pointer)};
    if (!seen.null) seen.at = session.place_of_new(address, allocated_before);
    session.names_.emplace(id, std::move(block));
  }
  Status operator()(const op::Free& free) const {
    session.free_name(free.id, seen);
    return Done{};
  }
  Status operator()(const op::View& view) const {
    if (const Status is_new = fresh(view.id); !is_new) return is_new;
    const auto of = session.names_.find(view.of);
    seen.skip = of == session.names_.end();
    if (!seen.skip) session.names_.emplace(view.id, of->second);
    return Done{};
  }
  Status operator()(const op::Record& record) const {
    const auto found = session.names_.find(record.id);
    seen.skip = found == session.names_.end();
    if (!seen.skip) allocator().used_on(found->second->pointer, session.streams_.at(record.stream));
    return Done{};
  }
  Status operator()(const op::StreamControl& control) const {
    void* stream = handle_of(control.stream);
    switch (control.verb) {
      case op::StreamVerb::hold:
        session.device_->hold(stream);
        break;
      case op::StreamVerb::complete:
        session.device_->complete(stream);
        break;
      case op::StreamVerb::unhold:
        session.device_->unhold(stream);
        break;
      case op::StreamVerb::sync:
        (void)session.device_->synchronize_stream(stream);  // a wait of the program, recorded like the allocator's
        break;
    }
    return Done{};
  }
  Status operator()(const op::Pool& pool) const {
    const PoolId id = pool_id(pool.pool);
    switch (pool.verb) {
      case op::PoolVerb::create:
        return note(allocator().create_pool(id));
      case op::PoolVerb::begin:
        return note(allocator().begin_pool(id));
      case op::PoolVerb::end:
        return note(allocator().end_pool(id));
      case op::PoolVerb::release:
        return note(allocator().release_pool(id));
      case op::PoolVerb::no_split:
        return note(allocator().set_pool_no_split(id));
      case op::PoolVerb::use_on_oom:
        allocator().set_pool_use_on_oom(id);
        return Done{};
      case op::PoolVerb::use_count:
        return use_count(id);
    }
    return Done{};
  }
  Status use_count(PoolId id) const {
    const auto count = allocator().pool_use_count(id);
    if (!count) return note(count.error());
    seen.value = static_cast<double>(*count);
    return Done{};
  }
  Status operator()(const op::EmptyPool& pool) const {
    if (const auto released = allocator().empty_pool(pool_id(pool.pool)); !released) return note(released.error());
    return Done{};
  }
  Status operator()(const op::Capture& capture) const {
    void* stream = handle_of(capture.stream);
    const auto done = [](DriverStatus status) -> Status {
      if (status) return Done{};
      return Error{ErrorCode::invalid, "the device does not allow this capture operation here"};
    };
    switch (capture.verb) {
      case op::CaptureVerb::begin:
        session.make_current(capture.stream);
        return done(session.device_->begin_capture(stream));
      case op::CaptureVerb::end:
        session.make_current(0);
        return done(session.device_->end_capture(stream));
      case op::CaptureVerb::join:
        return done(session.device_->join_capture(stream));
      case op::CaptureVerb::leave:
        return done(session.device_->leave_capture(stream));
      case op::CaptureVerb::current:
        session.make_current(capture.stream);
        return Done{};
    }
    return Done{};
  }
  Status operator()(const op::EmptyCache&) const {
    allocator().empty_cache();
    return Done{};
  }
  Status operator()(const op::ResetPeak&) const {
    allocator().reset_peak();
    return Done{};
  }
  Status operator()(const op::ResetAccumulated&) const {
    allocator().reset_accumulated();
    return Done{};
  }
  Status operator()(const op::SetFraction& set) const { return note(allocator().set_memory_fraction(set.fraction)); }
  Status operator()(const op::GetFraction&) const {
    seen.value = allocator().memory_fraction();
    return Done{};
  }
  Status operator()(const op::Settings& settings) const { return note(allocator().configure(settings.text)); }
  Status operator()(const op::SetCapacity& set) const {
    session.device_->set_capacity(session.capacity_ = set.capacity);
    return Done{};
  }
  Status operator()(const op::SetContext& set) const {
    session.device_->set_outside(set.used);
    return Done{};
  }
  Status operator()(const op::Fail& fail) const {
    const auto call = call_named(fail.call);
    if (!call) return Error{ErrorCode::unsupported, "failing this call of the driver"};
    session.device_->fail(*call, fail.nth);
    return Done{};
  }
  Status operator()(const op::Largest&) const {
    seen.value = static_cast<double>(allocator().largest_available().count);
    return Done{};
  }
  Status operator()(const op::Base& base) const {
    const auto found = session.names_.find(base.id);
    seen.skip = found == session.names_.end();
    if (seen.skip) return Done{};
    const auto segment = allocator().segment_of(found->second->pointer);
    if (!segment) return note(segment.error());
    seen.at = NumberedAddresses::place(segment->address);
    seen.value = static_cast<double>(segment->size.count);
    return Done{};
  }
  Status operator()(const op::Check&) const { return Done{}; }
  Status operator()(const op::Expect&) const { return Done{}; }
  // What missing_feature (features.cpp) keeps away from here.
  template <class Other>
  Status operator()(const Other&) const {
    return Error{ErrorCode::unsupported, "this operation"};
  }
};

Result<Seen> Session::apply(const Operation& operation) {
  Seen seen;
  if (const Status done = std::visit(Apply{*this, seen}, operation); !done) return done.error();
  seen.calls = call_texts(device_->take_calls(), device_->capabilities().segment_granularity);
  seen.events = watcher_.take_events();
  return seen;
}

}  // namespace quarry::tools
