// What a program asks of an allocator, without addresses: requests, frees and waits in order, blocks as dense slots.
// Made from a recording, from a packing problem, or by hand.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <quarry/allocator/types.h>
#include <quarry/stats/packing.h>
#include "tools/replay/program.h"

namespace quarry::tools {

enum class WorkKind : std::uint8_t {
  allocate,
  free,           // by the caller; work on streams named by used_on may still use the block
  request_free,   // the caller frees, but streams that nobody names use the block ...
  complete_free,  // ... until here
  used_on,        // work on `stream` uses the block
  note_wait,      // the program has made `stream` wait for all work on the stream with the number `slot`
};

struct WorkStep {
  WorkKind kind = WorkKind::allocate;
  std::uint16_t pool = 0;            // allocate: index in Workload::pools
  StreamId stream = kDefaultStream;  // allocate: of the block
  std::uint32_t slot = 0;            // of the block; slots are used again
  Bytes size;                        // allocate
};

// Streams are numbered from 0, the default stream.
struct Workload {
  std::vector<WorkStep> start;   // allocates what is live when the window begins; waits before that
  std::vector<WorkStep> window;  // what is measured
  // From the end of the window back to its beginning, so that it can be run again: everything that was allocated in it
  // and is still live is freed, in the order of its allocation; then everything that was live at the start and is not
  // any more is allocated again, in the order of the start. Blocks that span the window stay where they are.
  std::vector<WorkStep> rewind;
  std::vector<PoolId> pools{kDefaultPool};
  std::uint32_t slots = 0;
  std::uint32_t streams = 1;
  std::uint64_t allocations = 0;  // in the window
  std::uint64_t frees = 0;        // in the window, by the caller
  bool names_users = false;       // has used_on steps
  Bytes peak_requested;           // in the window, as the caller frees
  // The same until complete_free. What used_on prolongs depends on the run and is not in it.
  Bytes peak_requested_active;
};

// Calls in the order of the program. What is asked before begin_window is the start: allocate and request_free only.
// A slot or stream that does not fit is a CHECK failure.
class WorkloadBuilder {
 public:
  using Slot = std::uint32_t;

  // The slot is valid until the block is freed.
  Slot allocate(Bytes size, StreamId stream = kDefaultStream, PoolId pool = kDefaultPool);
  void free(Slot slot);
  void request_free(Slot slot);
  void complete_free(Slot slot);
  void used_on(Slot slot, StreamId stream);
  void note_wait(StreamId waiter, StreamId on);
  void begin_window();

  // The builder is empty afterwards.
  Workload finish();

 private:
  enum class State : std::uint8_t { none, live, pending };
  struct Block {
    WorkStep step;  // that allocated it
    State state = State::none;
    bool in_window = false;
    std::uint64_t serial = 0;  // in order of allocation
  };

  Block& at(Slot slot, State state);
  std::uint16_t pool_index(PoolId pool);
  void count_stream(StreamId stream);
  void push(const WorkStep& step);
  void measure();
  void release(Slot slot);
  void end_window_blocks();
  void allocate_start_again();

  Workload work_;
  std::vector<Block> blocks_;   // by slot
  std::vector<Block> started_;  // as they were when the window began, in order of allocation
  std::vector<Slot> free_slots_;
  std::map<PoolId, std::uint16_t> pools_;  // index in Workload::pools
  Bytes requested_;
  Bytes requested_active_;
  std::uint64_t next_serial_ = 0;
  bool window_ = false;
};

// The requests and frees of a trace; its segment events are left out. The start is the rewound state in address order.
Workload make_workload(const Program& program, const Rewound& start);

// Buffers of a packing problem, all on the default stream: by time, frees before allocations at equal times, then by
// id. Every size is multiplied by `scale`; `invalid` where they no longer stay below 2^63 together.
Result<Workload> make_workload(const stats::PackingProblem& problem, std::uint64_t scale);

}  // namespace quarry::tools
