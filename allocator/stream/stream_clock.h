// Who has waited for what. Every stream counts its frees; an event recorded on it covers all frees so far; a stream
// that waits for it, or a host that saw it finished, may use what those frees gave back. No lock: the heap's.
//
// The clock only keeps the numbers and the events in flight. The space records, asks and waits (space_order.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/types.h>

namespace quarry {

class StreamClock {
 public:
  // Without ordering there is no device work, and everything is complete at once.
  explicit StreamClock(bool ordered) : ordered_(ordered) {}

  struct Event {
    EventHandle event{};
    std::uint64_t covers = 0;  // frees of its stream
  };

  void note_request(StreamId stream) {
    if (!first_) first_ = stream;
    several_ = several_ || *first_ != stream;
  }
  // More than one stream has ever asked for memory.
  bool several() const { return several_; }

  // Number of this free of the stream, from 1 on.
  std::uint64_t note_free(StreamId stream, Bytes size) {
    Line& line = at(stream);
    line.uncovered += size;
    return ++line.frees;
  }
  std::uint64_t frees(StreamId stream) const { return known(stream) ? line(stream).frees : 0; }
  std::uint64_t covered(StreamId stream) const { return known(stream) ? line(stream).covered : 0; }
  // Streams that have freed or waited and are not closed; in the order of their first appearance.
  const std::vector<StreamId>& open() const { return open_; }
  // An event would be worth it: many frees, or many bytes, since the last one.
  bool due(StreamId stream) const {
    if (!ordered_ || !known(stream)) return false;
    const Line& l = line(stream);
    return l.frees - l.covered >= kFreesPerEvent || l.uncovered >= kBytesPerEvent;
  }

  void recorded(StreamId stream, EventHandle event) {
    Line& line = at(stream);
    line.events.push_back({event, line.frees});
    line.covered = line.frees;
    line.uncovered = {};
  }
  // The oldest event in flight, empty if there is none.
  std::optional<Event> oldest(StreamId stream) const {
    if (!known(stream) || line(stream).events.empty()) return std::nullopt;
    return line(stream).events.front();
  }
  void drop_oldest(StreamId stream) { at(stream).events.erase(at(stream).events.begin()); }
  // An event that covers that free and has not been seen finished; empty if there is none.
  std::optional<Event> covering(StreamId stream, std::uint64_t number) const {
    if (!known(stream)) return std::nullopt;
    for (const Event& event : line(stream).events) {
      if (event.covers >= number) return event;
    }
    return std::nullopt;
  }

  // The host has seen the work before that free complete.
  void set_complete(StreamId stream, std::uint64_t number) {
    Line& line = at(stream);
    line.complete = std::max(line.complete, number);
  }
  std::uint64_t complete(StreamId stream) const {
    if (!ordered_) return ~std::uint64_t{0};
    return known(stream) ? line(stream).complete : 0;
  }
  // The host has seen all its work complete, and no more can come. Its events are taken out before.
  void close(StreamId stream) {
    Line closed;
    closed.met = true;
    closed.frees = frees(stream);
    closed.complete = ~std::uint64_t{0};
    at(stream) = std::move(closed);
    std::erase(open_, stream);
    for (const StreamId other : open_) {
      std::erase_if(at(other).synced, [&](const Wait& wait) { return wait.on == stream; });
      std::erase(at(other).coupled, stream);
    }
  }

  // `waiter` has been made to wait for the work on `on` before that free.
  void set_synced(StreamId waiter, StreamId on, std::uint64_t number) {
    std::vector<Wait>& synced = at(waiter).synced;
    const auto known = std::find_if(synced.begin(), synced.end(), [&](const Wait& wait) { return wait.on == on; });
    if (known == synced.end()) {
      synced.push_back({on, number});
    } else {
      known->number = std::max(known->number, number);
    }
  }
  std::uint64_t synced(StreamId waiter, StreamId on) const {
    for (const Wait& wait : waits(waiter)) {
      if (wait.on == on) return wait.number;
    }
    return 0;
  }
  // `number` frees of `on` are usable for the one who waited.
  struct Wait {
    StreamId on = kDefaultStream;
    std::uint64_t number = 0;
  };
  // What the stream has waited for.
  std::span<const Wait> waits(StreamId waiter) const {
    return known(waiter) ? std::span<const Wait>(line(waiter).synced) : std::span<const Wait>();
  }

  // The program itself makes one of the two wait for the other, so they may wait for each other's bytes too.
  void couple(StreamId a, StreamId b) {
    couple_one(a, b);
    couple_one(b, a);
  }
  bool coupled(StreamId a, StreamId b) const {
    if (!known(a)) return false;
    const auto& coupled = line(a).coupled;
    return std::find(coupled.begin(), coupled.end(), b) != coupled.end();
  }

 private:
  static constexpr std::uint64_t kFreesPerEvent = 64;
  static constexpr Bytes kBytesPerEvent{16ull << 20};

  struct Line {
    bool met = false;
    std::uint64_t frees = 0;
    std::uint64_t covered = 0;   // by events
    std::uint64_t complete = 0;  // seen by the host
    Bytes uncovered;
    std::vector<Event> events;  // oldest first, few
    std::vector<Wait> synced;
    std::vector<StreamId> coupled;
  };

  bool known(StreamId stream) const { return static_cast<std::size_t>(stream) < lines_.size(); }
  const Line& line(StreamId stream) const { return lines_[static_cast<std::size_t>(stream)]; }
  Line& at(StreamId stream) {
    if (!known(stream)) lines_.resize(static_cast<std::size_t>(stream) + 1);
    Line& line = lines_[static_cast<std::size_t>(stream)];
    if (!line.met) open_.push_back(stream);
    line.met = true;
    return line;
  }
  void couple_one(StreamId a, StreamId b) {
    if (!coupled(a, b)) at(a).coupled.push_back(b);
  }

  bool ordered_;
  std::optional<StreamId> first_;
  bool several_ = false;
  std::vector<Line> lines_;  // by StreamId
  std::vector<StreamId> open_;
};

}  // namespace quarry
