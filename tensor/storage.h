// The bytes behind tensors: shared by every view of them, given back with the last one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/tensor/place.h>

namespace quarry {

// Held by std::shared_ptr; its use count is the number of tensors. Not synchronised: tensors of one storage are used by
// one thread at a time.
class Storage {
 public:
  // A block of `place`, belonging to its stream. Errors of Allocator::allocate.
  static Result<std::shared_ptr<Storage>> allocate(const Place& place, Bytes size);
  // Memory of someone else in `place`. `release` is called once, at the end, after the work on it is done.
  static std::shared_ptr<Storage> adopt(const Place& place, void* data, Bytes size, std::function<void()> release);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  Bytes size() const { return size_; }
  Bytes block_size() const { return {block_.block_size()}; }  // 0 for memory of someone else
  const Place& home() const { return home_; }

  // Work that uses the bytes was queued on the stream of `place`, a device: the allocator is told, so that they are not
  // reused before it is done.
  void used_on(const Place& place);
  // Waits on the host until all work on the bytes is done: before the host itself touches them.
  Status wait();

 private:
  Storage(const Place& home, void* data, Bytes size) : home_(home), data_(data), size_(size) {}

  Place home_;
  Allocation block_;
  void* data_;
  Bytes size_;
  std::function<void()> release_;  // null where the block is ours
  std::vector<Place> users_;       // streams with work that nobody waited for yet
};

}  // namespace quarry
