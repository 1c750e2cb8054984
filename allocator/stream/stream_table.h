// Native stream handles <-> numbers. A number is never used twice: a handle that was retired, or whose driver identity
// changed, gets a new one. Number 0 is the default stream: handle null, or the one that stands for the host where the
// host owns every block (Driver::host_stream), and then null is a stream like any other. No lock: the heap's.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <quarry/allocator/planted_race.h>
#include <quarry/allocator/types.h>

namespace quarry {

class StreamTable {
 public:
  enum class State : std::uint8_t {
    open,
    retired,  // all its work was seen complete before its handle died
    lost,     // its handle died without a word: only a wait for the device proves its work complete
  };
  struct Entry {
    std::uint64_t handle = 0;
    std::uint64_t identity = 0;  // the driver's own number; 0 where it has none
    State state = State::open;
  };

  explicit StreamTable(void* default_handle)
      : entries_{{reinterpret_cast<std::uint64_t>(default_handle), 0, State::open}},
        numbers_{{entries_.front().handle, kDefaultStream}} {}

  // The number of `handle`, a new one if it has not been seen or names another stream now.
  StreamId resolve(std::uint64_t handle, std::uint64_t identity) {
    const auto [found, fresh] = numbers_.try_emplace(handle, kDefaultStream);
    if (!fresh) {
      Entry& known = entries_[static_cast<std::size_t>(found->second)];
      QUARRY_PLANTED(stale_handle, return found->second);
      if (known.identity == identity) return found->second;
      known.state = State::lost;
    }
    found->second = static_cast<StreamId>(entries_.size());
    entries_.push_back({handle, identity, State::open});
    return found->second;
  }

  // The handle may be given to another stream from now on.
  void retire(StreamId id, State state) {
    Entry& entry = entries_[static_cast<std::size_t>(id)];
    entry.state = state;
    numbers_.erase(entry.handle);
  }

  const Entry& at(StreamId id) const { return entries_[static_cast<std::size_t>(id)]; }

  std::vector<std::uint64_t> handles() const {
    std::vector<std::uint64_t> handles;
    for (const Entry& entry : entries_) handles.push_back(entry.handle);
    return handles;
  }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::uint64_t, StreamId> numbers_;
};

}  // namespace quarry
