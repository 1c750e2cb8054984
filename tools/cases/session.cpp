#include "tools/cases/session.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

// A native handle for a stream of the case: any value that is not null and differs per stream.
void* handle_of(CaseStream stream) { return reinterpret_cast<void*>(std::uintptr_t{stream} << 8); }

sim::DeviceOptions device_options(const Case& one) {
  sim::DeviceOptions options;
  options.capacity = one.capacity;
  options.record_calls = true;
  return options;
}

// The driver calls by the names the recordings use; questions about memory are left out. A release is recorded with
// what the device held for the segment: whole multiples of its granularity.
std::vector<std::string> call_texts(const std::vector<sim::CallRecord>& records, Bytes granularity) {
  std::vector<std::string> texts;
  for (const sim::CallRecord& record : records) {
    const bool ok = record.result == DriverCode::ok;
    if (record.call == sim::Call::allocate_segment) {
      const char* result = ok ? "ok" : record.result == DriverCode::out_of_memory ? "oom" : "invalid";
      texts.push_back(fmt::format("cudaMalloc {} {}", record.size.count, result));
    }
    if (record.call == sim::Call::release_segment) {
      const std::uint64_t held = (record.size.count + granularity.count - 1) / granularity.count * granularity.count;
      texts.push_back(fmt::format("cudaFree {}{}", held, ok ? "" : " failed"));
    }
  }
  return texts;
}

}  // namespace

Session::Session(const Case& one)
    : capacity_(one.capacity), device_(std::make_shared<sim::Device>(device_options(one))), watcher_(stream_names_) {
  device_->set_outside(one.context);
}

Session::~Session() {
  if (!allocator_) return;
  allocator_->detach();
  for (auto& [id, block] : names_) {
    if (block.use_count() == 1) give_back(*block);
    block.reset();
  }
}

Status Session::open(const Case& one) {
  Options base;
  base.policy = Policy::pytorch;
  base.tie_break = TieBreak::segment;
  const auto options = parse_options(one.config, base, Origin::environment);
  if (!options) return options.error();
  auto opened = Allocator::open(device_, *options);
  if (!opened) return opened.error();
  allocator_ = *std::move(opened);
  allocator_->attach(watcher_);
  // In the order of their numbers: where an order among streams matters it is that of their numbers.
  std::set<CaseStream> used{0};
  for (const Step& step : one.steps) {
    if (const auto* alloc = std::get_if<op::Alloc>(&step.operation)) used.insert(alloc->stream);
  }
  for (const CaseStream name : used) {
    const Stream stream = allocator_->stream(handle_of(name));
    streams_.emplace(name, stream);
    stream_names_.add(name, stream.id());
  }
  return Done{};
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
  Place place = watcher_.place(address).value_or(Place{UINT64_MAX, address.value, std::nullopt});
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
    auto block = allocator().allocate(alloc.size.count);
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
    if (seen.skip || !found->second->pointer) return Done{};  // work on no bytes
    return Error{ErrorCode::unsupported, "use of a block by another stream"};
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
    if (fail.call != "cudaMalloc" && fail.call != "cudaFree") {
      return Error{ErrorCode::unsupported, "mapping calls of the driver"};
    }
    session.device_->fail(fail.call == "cudaMalloc" ? sim::Call::allocate_segment : sim::Call::release_segment,
                          fail.nth);
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
    seen.at = session.watcher_.place(segment->address);
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
