// The private pools and captures of a hunt's program. What a correct program would not do at that moment is left out,
// so that a program stays correct whatever is dropped from it.
//
// Each pool is either scoped by hand or belongs to graphs: what a captured request gets is used again whenever the
// graph runs, so nobody else asks there. All work on the memory of such a pool follows each other, one graph or use at
// a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "support/hunt_graph.h"
#include "support/hunt_program.h"
#include "support/tracked_block.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::hunt {

class Pools {
 public:
  Pools(Allocator& allocator, sim::Device& device);

  // The calling thread goes on as the logical thread `thread`.
  void resume(std::uint32_t thread) { allocator_.make_current(current_[thread]); }
  // Whether work of `thread` may be queued on the stream: not where another thread captures.
  bool may_queue(std::uint32_t thread, std::uint32_t stream) const {
    return taken_[stream] == nullptr || taken_[stream] == capture_of(thread);
  }
  bool capturing(std::uint32_t stream) const { return taken_[stream] != nullptr; }

  void begin(const Step& step, const Queue& queue);
  void end(std::uint32_t pool);
  void release(std::uint32_t pool);
  void begin_capture(const Step& step, const Queue& queue);
  void fork(const Step& step, const Queue& queue);
  // The number of uses in it.
  std::uint64_t end_capture(std::uint32_t thread);
  // Runs a graph of the pool. False if there is none.
  bool launch(const Step& step, const Queue& queue);
  // Ends every capture and scope, by hand of the threads that began them.
  void close();

  // What a request on that stream has to say.
  Request request(const Step& step, const Queue& queue) const;
  TrackedBlock track(const Step& step, const Queue& queue, Allocation block);
  // A use of a block. In a capture only what it got itself is used, and elsewhere nothing that an open one got. True if
  // it was.
  bool use(const Step& step, const Queue& queue, TrackedBlock& block);

  static PoolId id_of(std::uint32_t pool) { return {7, pool}; }

 private:
  struct Capture {
    std::uint32_t pool;
    std::vector<std::pair<std::uint32_t, Queue>> branches;  // with their slots; the first began it
    std::set<std::uint32_t> blocks;
    Graph graph;
  };
  struct Pool {
    std::uint64_t users = 0;
    bool scoped = false;
    std::shared_ptr<UseOrder> order;
    std::vector<Graph> graphs;
  };

  const Capture* capture_of(std::uint32_t thread) const { return captures_[thread].get(); }
  bool acquired(std::uint32_t pool, PoolScope scope, Stream stream);

  Allocator& allocator_;
  sim::Device& device_;
  std::array<Queue, kStreams> branches_;
  std::array<Stream, kThreads> current_{};
  std::array<std::unique_ptr<Capture>, kThreads> captures_;
  std::array<const Capture*, kStreams> taken_{};
  std::array<Pool, kPools> pools_;
};

}  // namespace quarry::hunt
