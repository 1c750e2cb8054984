#include <quarry/tensor/storage.h>

#include <algorithm>
#include <utility>

#include <quarry/tensor/planted_omission.h>

namespace quarry {

Result<std::shared_ptr<Storage>> Storage::allocate(const Place& place, Bytes size) {
  Result<Allocation> block = place.memory().allocate(size.count, place.stream());
  if (!block) return block.error();
  std::shared_ptr<Storage> storage(new Storage(place, block->data(), size));
  storage->block_ = *std::move(block);
  return storage;
}

std::shared_ptr<Storage> Storage::adopt(const Place& place, void* data, Bytes size, std::function<void()> release) {
  std::shared_ptr<Storage> storage(new Storage(place, data, size));
  storage->release_ = std::move(release);
  return storage;
}

Storage::~Storage() {
  if (!release_) return;  // the allocator keeps our block until its streams are done
  static_cast<void>(wait());
  release_();
}

void Storage::used_on(const Place& place) {
  if (!QUARRY_OMITTED) block_.used_on(home_.memory().stream(place.native_stream()));
  const bool known = std::any_of(users_.begin(), users_.end(), [&](const Place& user) {
    return same_memory(user, place) && user.native_stream() == place.native_stream();
  });
  if (!known) users_.push_back(place);
}

Status Storage::wait() {
  for (const Place& user : users_) {
    if (Status done = user.synchronize(); !done) return done;
  }
  users_.clear();
  return Done{};
}

}  // namespace quarry
