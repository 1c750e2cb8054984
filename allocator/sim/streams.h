// Queues of device work in virtual time, and what is ordered before what.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <quarry/allocator/sim/vector_clock.h>

namespace quarry::sim {

// A point in a stream's queue: what an event records.
struct Mark {
  std::size_t slot = 0;
  std::uint64_t sequence = 0;
  VectorClock clock;  // what happened before it
  bool done = false;
  double done_ns = 0;
};

// Without a mark it was never recorded, or recorded in a capture.
struct Event {
  std::shared_ptr<const Mark> mark;
  void* stream = nullptr;
  std::uint64_t capture = 0;
};

struct Stream {
  struct Piece {
    std::uint64_t sequence = 0;
    double duration_ns = 0;
    double queued_ns = 0;
    std::shared_ptr<const Mark> after;  // does not start before this is done
    std::shared_ptr<Mark> mark;         // done with this piece
    std::function<void()> effect;
  };

  void* handle = nullptr;
  std::uint64_t identity = 0;
  std::size_t slot = 0;     // its place in every VectorClock
  std::uint64_t first = 0;  // sequences count on when a slot gets a new stream: its own come after this
  std::uint64_t last = 0;
  std::uint64_t allowed = kAll;  // pieces after this are held
  double ready_ns = 0;           // when the last piece that ran ended
  VectorClock clock;             // what happens before the piece that is queued next
  std::deque<Piece> queue;       // what has not run
  std::uint64_t capture = 0;     // the capture it takes part in
  bool open = true;              // not destroyed

  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
};

// Not synchronised; the device locks.
class Streams {
 public:
  // The default stream is there from the start.
  Streams();

  // Brings an unknown handle to life. Null for a handle from create() that was destroyed.
  Stream* find(void* handle);
  void* create();
  // False where there is no such stream, for the default stream, and for one that takes part in a capture.
  bool destroy(void* handle);

  double now() const { return now_; }
  void pass(double ns);  // time passes: what ends by then has run
  bool idle() const { return queued_ == 0; }

  // Sequence number of the piece in the stream's own count.
  std::uint64_t queue(Stream& stream, double duration_ns, std::function<void()> effect);
  std::shared_ptr<const Mark> mark(Stream& stream);
  void wait(Stream& stream, std::shared_ptr<const Mark> mark);

  void hold(Stream& stream);
  void complete(Stream& stream);
  void unhold(Stream& stream);

  // Time passes until all up to the mark, all of the stream, or everything has run. Held pieces run too.
  void run_to(const Mark& mark);
  void run_all(Stream& stream);
  void run_all();

  // What the host has seen the end of; every piece queued later comes after that.
  const VectorClock& host() const { return host_; }
  void host_saw(const Mark& mark) { host_.join(mark.clock); }
  void host_saw(const Stream& stream) { host_.join(stream.clock); }
  void host_saw_all();

  // Captures; false where it is not possible.
  bool begin_capture(Stream& stream);
  bool end_capture(Stream& stream);
  bool join_capture(Stream& stream);                    // the one begun last
  bool join_capture(Stream& stream, std::uint64_t id);  // true if it takes part already
  bool leave_capture(Stream& stream);
  bool capturing() const { return !captures_.empty(); }

 private:
  Stream& open_stream(void* handle);
  std::uint64_t append(Stream& stream, Stream::Piece piece);
  std::optional<double> end_of_front(const Stream& stream) const;  // nothing while the front may not start
  void run();                                                      // all that ends by now
  void run_front(Stream& stream, double end_ns);
  void run_until(Stream& stream, std::uint64_t sequence);
  void allow(Stream& stream, std::uint64_t sequence);

  struct Capture {
    std::uint64_t id;
    std::size_t origin;
  };

  std::vector<std::unique_ptr<Stream>> streams_;  // by slot
  std::map<void*, std::size_t> by_handle_;        // open ones
  std::map<void*, bool> made_;                    // handles from create(): whether it is in use
  std::vector<Capture> captures_;                 // in order of their beginning
  VectorClock host_;
  double now_ = 0;
  std::uint64_t queued_ = 0;  // pieces in all queues
  std::uint64_t next_identity_ = 1;
  std::uint64_t next_capture_ = 1;
};

}  // namespace quarry::sim
