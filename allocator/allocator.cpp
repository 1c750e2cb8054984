// The public face: arguments are checked here, the work is Space's.
#include <quarry/allocator/allocator.h>

#include <bit>
#include <stdexcept>

#include <quarry/allocator/check.h>
#include <quarry/allocator/heap/pytorch_rules.h>
#include <quarry/allocator/space.h>
#include <quarry/allocator/space_errors.h>

namespace quarry {
namespace {

// An empty code-message means that nothing is wrong.
Status check_request(const Request& request) {
  if (!std::has_single_bit(request.alignment.count)) {
    return Error{ErrorCode::invalid, "alignment must be a power of two"};
  }
  if (request.alignment > kMinBlock) {
    return Error{ErrorCode::unsupported, "alignment above 512 is not supported by the pytorch policy"};
  }
  return Done{};
}

Error host_owns_error() {
  return {ErrorCode::invalid,
          "in this space the host owns every block: ask without a stream, and name the streams that use it (used_on)"};
}

}  // namespace

// Allocation ---------------------------------------------------------------------------------------------------------

void Allocation::swap(Allocation& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(block_, other.block_);
  std::swap(address_, other.address_);
  std::swap(requested_, other.requested_);
  std::swap(block_size_, other.block_size_);
}

void Allocation::used_on(Stream stream) {
  if (block_ == nullptr) return;
  QUARRY_CHECK(stream.space_ == nullptr || stream.space_ == space_, "a stream of another allocator");
  space_->used_on(block_, stream.id());
}

void Allocation::reset() {
  if (block_ != nullptr) space_->free(block_);
  (void)release();
}

void* Allocation::release() {
  void* pointer = data();
  space_ = nullptr;
  block_ = nullptr;
  address_ = {};
  requested_ = block_size_ = {};
  return pointer;
}

// Allocator: life ----------------------------------------------------------------------------------------------------

Result<Allocator> Allocator::open(std::shared_ptr<Driver> driver, const Options& options) {
  Result<Space*> space = Space::open(std::move(driver), options);
  if (!space) return space.error();
  return Allocator(*space);
}

const std::shared_ptr<Driver>& Allocator::driver() const { return space_->driver(); }

Allocator::Allocator(const Allocator& other) : space_(other.space_) {
  if (space_ != nullptr) space_->add_handle();
}

Allocator::~Allocator() {
  if (space_ != nullptr) space_->drop_handle();
}

Stream Allocator::stream(void* native_handle) { return {space_->resolve_stream(native_handle), space_}; }

void Allocator::retire(Stream stream) { space_->retire_stream(stream.id()); }
void Allocator::note_wait(Stream waiter, Stream on) { space_->note_wait(waiter.id(), on.id()); }
void Allocator::make_current(Stream stream) { space_->make_current(stream.id()); }

// Allocator: requests -------------------------------------------------------------------------------------------------

Result<Allocation> Allocator::allocate(std::size_t bytes, Stream stream) {
  return allocate(Request{.size = {bytes}, .stream = stream});
}

Result<Allocation> Allocator::allocate(const Request& request) {
  QUARRY_CHECK(request.stream.space_ == nullptr || request.stream.space_ == space_, "a stream of another allocator");
  if (Status sound = check_request(request); !sound) return sound.error();
  if (space_->host_owned() && request.stream.id() != kDefaultStream) return host_owns_error();
  Allocation allocation;
  if (request.size == Bytes{}) return allocation;
  if (request.size >= kSanityCap) return absurd_size_error(request.size);
  Result<Block*> block = space_->allocate(request);
  if (!block) return block.error();
  allocation.space_ = space_;
  allocation.block_ = *block;
  allocation.address_ = (*block)->address;
  allocation.requested_ = request.size;
  allocation.block_size_ = (*block)->size;
  return allocation;
}

Allocation Allocator::allocate_or_throw(std::size_t bytes, Stream stream) {
  Result<Allocation> allocation = allocate(bytes, stream);
  if (allocation) return *std::move(allocation);
  const Error& error = allocation.error();
  if (error.code == ErrorCode::out_of_memory) throw OutOfMemory(error.message);
  throw std::runtime_error(error.message);
}

Result<void*> Allocator::allocate_raw(std::size_t bytes, Stream stream) {
  QUARRY_CHECK(stream.space_ == nullptr || stream.space_ == space_, "a stream of another allocator");
  if (bytes == 0) return static_cast<void*>(nullptr);
  if (Bytes{bytes} > kLargestRequest) return absurd_size_error({bytes});
  if (space_->host_owned() && stream.id() != kDefaultStream) return host_owns_error();
  Result<Block*> block = space_->allocate(Request{.size = {bytes}, .stream = stream});
  if (!block) return block.error();
  return reinterpret_cast<void*>((*block)->address.value);
}

void Allocator::deallocate(void* pointer) {
  if (pointer == nullptr) return;
  space_->free(Address{reinterpret_cast<std::uint64_t>(pointer)});
}

void Allocator::deallocate(void* pointer, std::size_t bytes, Stream stream) {
  if (pointer == nullptr) {
    QUARRY_CHECK(bytes == 0, "null has no bytes");
    return;
  }
  const Request claim{.size = {bytes}, .stream = stream};
  space_->free(Address{reinterpret_cast<std::uint64_t>(pointer)}, &claim);
}

void Allocator::used_on(const void* pointer, Stream stream) {
  QUARRY_CHECK(stream.space_ == nullptr || stream.space_ == space_, "a stream of another allocator");
  if (pointer != nullptr) space_->used_on(Address{reinterpret_cast<std::uint64_t>(pointer)}, stream.id());
}

// Allocator: the rest is Space's --------------------------------------------------------------------------------------

Bytes Allocator::empty_cache() { return space_->empty_cache(); }
Status Allocator::configure(std::string_view text) { return space_->configure(text); }
Options Allocator::options() const { return space_->options(); }
Status Allocator::set_memory_fraction(double fraction) { return space_->set_memory_fraction(fraction); }
double Allocator::memory_fraction() const { return space_->memory_fraction(); }
SpaceStats Allocator::stats() const { return {space_->device_name(), space_->counters(), space_->ledger()}; }
Counters Allocator::counters() const { return space_->counters(); }
Result<Counters> Allocator::counters(PoolId pool) const { return space_->counters(pool); }
void Allocator::add_reclaim_callback(std::function<bool()> callback) {
  space_->add_reclaim_callback(std::move(callback));
}
void Allocator::add_oom_observer(std::function<void(const OutOfMemoryEvent&)> observer) {
  space_->add_oom_observer(std::move(observer));
}
Status Allocator::create_pool(PoolId id) { return space_->create_pool(id); }
Status Allocator::begin_pool(PoolId id, PoolScope scope, Stream stream) {
  return space_->begin_pool(id, scope, stream.id());
}
Status Allocator::end_pool(PoolId id) { return space_->end_pool(id); }
Status Allocator::release_pool(PoolId id) { return space_->release_pool(id); }
Result<std::uint64_t> Allocator::pool_use_count(PoolId id) const { return space_->pool_use_count(id); }
Status Allocator::set_pool_no_split(PoolId id) { return space_->set_pool_no_split(id); }
void Allocator::set_pool_use_on_oom(PoolId id) { space_->set_pool_use_on_oom(id); }
Result<Bytes> Allocator::empty_pool(PoolId id) { return space_->empty_pool(id); }
Ledger Allocator::ledger() const { return space_->ledger(); }
Snapshot Allocator::snapshot() const { return space_->snapshot(); }
void Allocator::reset_peak() { space_->reset_peak(); }
void Allocator::reset_accumulated() { space_->reset_accumulated(); }
Bytes Allocator::largest_available() const { return space_->largest_available(); }
void Allocator::attach(Observer& observer) { space_->set_observer(&observer); }
void Allocator::detach() { space_->set_observer(nullptr); }
std::string Allocator::validate() const { return space_->validate(); }
Status Allocator::restore(const Snapshot& state) { return space_->restore(state); }
Status Allocator::release_segment(Address base) { return space_->release_segment(base); }
Status Allocator::unmap_range(Address base, Bytes size) { return space_->unmap_range(base, size); }

Result<Allocator::Segment> Allocator::segment_of(const void* pointer) const {
  return space_->segment_of({reinterpret_cast<std::uint64_t>(pointer)});
}

}  // namespace quarry
