// What a driver handed out and was not given back.
#pragma once

#include <map>
#include <mutex>

#include <quarry/allocator/types.h>

namespace quarry {

// Ranges handed out, by base address and with their size. Thread-safe.
class HeldRanges {
 public:
  void add(Address base, Bytes size) {
    const std::lock_guard lock(mutex_);
    sizes_.emplace(base, size);
  }
  // Takes it out when it is there with this size. Before the driver frees it: then another thread may get the address.
  bool take(Address base, Bytes size) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(base);
    if (found == sizes_.end() || found->second != size) return false;
    sizes_.erase(found);
    return true;
  }
  // Bytes at `base`; 0 for none.
  Bytes size_of(Address base) const {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(base);
    return found == sizes_.end() ? Bytes{} : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Address, Bytes> sizes_;
};

}  // namespace quarry
