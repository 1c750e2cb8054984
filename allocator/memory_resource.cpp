#include <quarry/allocator/memory_resource.h>

#include <algorithm>
#include <cstdint>

namespace quarry {
namespace {

constexpr std::size_t kMostAlignment = 512;  // of every block

// A std::bad_alloc that says why.
class Refusal final : public std::bad_alloc {
 public:
  explicit Refusal(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// Room for any larger alignment, and for a word before the aligned place.
std::size_t size_with(std::size_t bytes, std::size_t alignment) {
  const std::size_t least = std::max<std::size_t>(bytes, 1);
  return alignment <= kMostAlignment ? least : least + alignment;
}

// The first aligned place with room before it; the word there says where the block begins.
void* place_in(void* block, std::size_t alignment) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t place = (begin + sizeof(void*) + alignment - 1) & ~(alignment - 1);
  reinterpret_cast<void**>(place)[-1] = block;
  return reinterpret_cast<void*>(place);
}

void* block_of(void* place) { return static_cast<void**>(place)[-1]; }

}  // namespace

void* MemoryResource::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t size = size_with(bytes, alignment);
  if (size < bytes) throw OutOfMemory("a size and an alignment whose sum leaves 64 bits");
  Result<void*> got = allocator_.allocate_raw(size);
  if (!got && got.error().code == ErrorCode::out_of_memory) throw OutOfMemory(got.error().message);
  if (!got) throw Refusal(got.error().message);
  return alignment <= kMostAlignment ? *got : place_in(*got, alignment);
}

void MemoryResource::do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) {
  void* const block = alignment <= kMostAlignment ? pointer : block_of(pointer);
  allocator_.deallocate(block, size_with(bytes, alignment), {});
}

bool MemoryResource::do_is_equal(const std::pmr::memory_resource& other) const noexcept {
  const auto* resource = dynamic_cast<const MemoryResource*>(&other);
  return resource != nullptr && same_space(allocator_, resource->allocator_);
}

}  // namespace quarry
