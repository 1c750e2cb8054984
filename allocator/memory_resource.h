// A space as a std::pmr::memory_resource.
#pragma once

#include <cstddef>
#include <memory_resource>

#include <quarry/allocator/allocator.h>

namespace quarry {

// Memory of one allocator for the containers of the standard library: of a space whose bytes this process may read and
// write, open_host or open_pinned. Requests are made without a stream. Any thread.
//
// allocate throws OutOfMemory, or std::bad_alloc of another kind where the driver fails; what() says which. 0 bytes are
// served as one. An alignment above 512 costs as many bytes more, and one word before the block is written. Two
// resources are equal when they hand out memory of the same space.
class MemoryResource final : public std::pmr::memory_resource {
 public:
  explicit MemoryResource(Allocator allocator) : allocator_(std::move(allocator)) {}

  const Allocator& allocator() const { return allocator_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;

  Allocator allocator_;
};

}  // namespace quarry
