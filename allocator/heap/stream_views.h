// What each stream may use of the free memory of one heap.
//
// A free range belongs to the stream that used it last until the work before its free is complete; then it is common.
// A stream sees the common ranges, its own, and those whose free it has been made to wait for, merged by address: its
// view. As long as one stream only has asked, its view is all there is. Records split, and merge again once they are
// common. No lock: the heap's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quarry/allocator/heap/free_space.h>
#include <quarry/allocator/stream/stream_clock.h>

namespace quarry {

class StreamViews {
 public:
  // `clock` outlives the views. A page is 2^page_shift units.
  StreamViews(const StreamClock& clock, unsigned page_shift) : clock_(clock), page_shift_(page_shift) {}

  // A free range as the records know it.
  struct Free {
    Units begin = 0;
    Units end = 0;
    std::optional<StreamId> owner;  // empty: common
    std::uint64_t number = 0;       // of the owner's free
    std::uint64_t freed_at = 0;     // requests made before it
  };

  // Made at the first call for a stream.
  FreeSpace& view(StreamId stream) {
    const auto index = static_cast<std::size_t>(stream);
    if (index < by_stream_.size() && by_stream_[index] != nullptr) [[likely]]
      return *by_stream_[index];
    return make_view(stream);
  }
  void make_room(Units end);
  void add(Units begin, Units end, StreamId owner, std::uint64_t number);
  void add_common(Units begin, Units end);
  // `viewer` sees all of the range free; from now on nobody does. `extent` is what it lies in there, if that is known.
  void take(StreamId viewer, Units begin, Units end, Extent* extent = nullptr) {
    FreeSpace& own = view(viewer);
    own.cut(extent != nullptr ? extent : own.containing(begin), begin, end);
    if (several_) take_from_others(viewer, begin, end);
  }
  // Takes whatever is free in the range, whoever may use it, and says what it was; put_back undoes that.
  std::vector<Free> claim(Units begin, Units end);
  void put_back(const std::vector<Free>& claimed);
  void count_request() { ++requests_; }

  // The clock has moved: `complete` of the stream, or `synced` of the waiter from `before` on.
  void completed(StreamId stream);
  void synchronized(StreamId waiter, StreamId on, std::uint64_t before);
  // The stream asks for nothing any more.
  void forget(StreamId stream);

  // Ranges that `viewer` may not use, on streams it is coupled with, freed at least `age` requests ago; oldest first,
  // at most `most`.
  std::vector<Free> waitable(StreamId viewer, std::uint64_t age, std::size_t most) const;
  // Shows ranges to one viewer only, or hides them again: to try what a wait would bring.
  void show(StreamId viewer, const Free& range) { view(viewer).add(range.begin, range.end); }
  void hide(StreamId viewer, const Free& range) { view(viewer).remove(range.begin, range.end); }

  bool several() const { return several_; }
  // The one stream that has asked, if it is one.
  std::optional<StreamId> sole() const {
    return several_ || views_.empty() ? std::nullopt : std::optional(views_.front().stream);
  }
  // Of the stream that sees most.
  Units largest() const;
  std::size_t whole_pages() const;
  // Every free range once, in address order.
  std::vector<Free> all() const;
  std::string validate() const;

 private:
  struct Record {
    Units end = 0;
    std::optional<StreamId> owner;
    std::uint64_t number = 0;
    std::uint64_t freed_at = 0;
  };
  using Records = std::map<Units, Record>;
  struct View {
    StreamId stream = kDefaultStream;
    std::unique_ptr<FreeSpace> free;
  };
  struct Freed {
    std::uint64_t number = 0;
    Units begin = 0;
    Units end = 0;
  };

  FreeSpace& make_view(StreamId stream);
  void take_from_others(StreamId viewer, Units begin, Units end);
  static Free as_free(Units begin, const Record& record) {
    return {begin, record.end, record.owner, record.number, record.freed_at};
  }
  bool usable(const Record& record, StreamId viewer) const;
  void split_up();
  void insert(Units begin, Record record);
  void erase(Units begin, Units end);
  void split_at(Units at);
  void make_common(Records::iterator record);
  void compact(StreamId stream);
  template <class Visit>
  void visit_freed(StreamId stream, const Freed& freed, Visit&& visit) const;
  FreeSpace* find_view(StreamId stream) const {
    const auto index = static_cast<std::size_t>(stream);
    return index < by_stream_.size() ? by_stream_[index] : nullptr;
  }

  const StreamClock& clock_;
  unsigned page_shift_;
  Units room_ = 0;
  std::uint64_t requests_ = 0;
  bool several_ = false;
  std::vector<View> views_;            // of the streams that may still ask; the first one's alone is all there is
  std::vector<FreeSpace*> by_stream_;  // by StreamId
  Records records_;                    // by begin; only with several streams, or before the first
  std::map<StreamId, std::deque<Freed>> logs_;  // in the order of the frees; may hold what is gone
};

}  // namespace quarry
