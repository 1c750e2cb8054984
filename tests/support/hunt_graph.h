// A captured graph: what a program queued while its streams were capturing, to be run on any stream, again and again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/hunt_program.h"
#include "support/use_order.h"

namespace quarry::hunt {

// Its branches are the streams of the capture, by their slots. They run side by side but where the program forked, and
// where a use of a block had to follow one on another branch.
class Graph {
 public:
  explicit Graph(std::uint32_t origin) : origin_(origin) {}

  void fork(std::uint32_t branch) { nodes_.push_back({Kind::fork, branch}); }
  void allocate(std::uint32_t branch, std::uint32_t block) { nodes_.push_back({Kind::allocate, branch, block}); }
  void use(std::uint32_t branch, std::uint32_t block, sim::ByteRange range, bool writes, std::uint64_t duration_ns) {
    nodes_.push_back({Kind::use, branch, block, range, writes, duration_ns});
    ++uses_;
  }

  std::uint64_t uses() const { return uses_; }

  // Queues all of it: the origin's part on `queue`, the other branches on `branches`, streams that only graphs use.
  void launch(sim::Device& device, const Queue& queue, const std::array<Queue, kStreams>& branches) const {
    std::map<std::uint32_t, UseOrder> blocks;
    std::set<std::uint32_t> forked;
    for (const Node& node : nodes_) {
      const Queue& on = node.branch == origin_ ? queue : branches[node.branch];
      if (node.kind == Kind::fork) {
        follow(device, on, queue);
        forked.insert(node.branch);
        continue;
      }
      UseOrder& order = blocks.try_emplace(node.block, device).first->second;
      if (node.kind == Kind::use) run(device, on, node, order);
      order.note(on, node.writes);
    }
    for (const std::uint32_t branch : forked) follow(device, queue, branches[branch]);
  }

 private:
  enum class Kind : std::uint8_t { fork, allocate, use };
  struct Node {
    Kind kind;
    std::uint32_t branch;
    std::uint32_t block = 0;
    sim::ByteRange range{};
    bool writes = true;
    std::uint64_t duration_ns = 0;
  };

  static void run(sim::Device& device, const Queue& on, const Node& node, UseOrder& order) {
    using Ranges = std::vector<sim::ByteRange>;
    order.wait(on, node.writes);
    device.work(on.handle, node.duration_ns, node.writes ? Ranges{} : Ranges{node.range},
                node.writes ? Ranges{node.range} : Ranges{});
  }

  std::uint32_t origin_;
  std::vector<Node> nodes_;
  std::uint64_t uses_ = 0;
};

}  // namespace quarry::hunt
