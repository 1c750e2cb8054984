#include <algorithm>

#include <quarry/stats/read.h>

#include "bench/compare/workload.h"
#include "tools/replay/program.h"
#include "tools/replay/settings.h"

namespace quarry::bench {
namespace {

using tools::Op;
using tools::OpKind;

Error cannot_run(const std::string& path, const std::string& reason) {
  return Error{ErrorCode::invalid, path + ": " + reason};
}

bool in_private_pool(const Op& op) {
  if (op.kind == OpKind::release_segment || op.kind == OpKind::unmap) return false;
  return op.pool != kDefaultPool;
}

class Builder {
 public:
  explicit Builder(std::uint32_t slots) : live_(slots) { workload_.slots = slots; }

  // Blocks without a known request are requested by their size.
  void start(const Snapshot& state, const std::vector<std::uint32_t>& slots) {
    std::size_t at = 0;
    for (const SegmentView& segment : state.segments) {
      for (const BlockView& block : segment.blocks) {
        const Bytes bytes = block.requested != Bytes{} ? block.requested : block.size;
        allocate(workload_.before, bytes, slots[at++]);
      }
    }
  }

  void add(const Op& op) {
    switch (op.kind) {
      case OpKind::allocate:
        return allocate(workload_.operations, op.size, op.slot);
      case OpKind::free:
      case OpKind::request_free:
      case OpKind::complete_free:
        return free(op.slot);
      case OpKind::release_segment:
      case OpKind::unmap:
        return;  // what the recording's allocator did, not its caller
    }
  }

  Workload finish() {
    close(workload_);
    return std::move(workload_);
  }

 private:
  void allocate(std::vector<Operation>& into, Bytes bytes, std::uint32_t slot) {
    if (bytes == Bytes{}) return;  // a request of nothing takes no block
    live_[slot] = bytes.count;
    into.push_back({bytes.count, slot, false});
  }

  // The second half of a free in two steps finds nothing any more.
  void free(std::uint32_t slot) {
    if (live_[slot] == 0) return;
    workload_.operations.push_back({live_[slot], slot, true});
    live_[slot] = 0;
  }

  Workload workload_;
  std::vector<std::uint64_t> live_;  // bytes by slot, 0 = no block
};

}  // namespace

Result<Workload> trace_workload(const std::string& path) {
  const Result<stats::Trace> trace = stats::read_snapshot(path);
  if (!trace) return trace.error();
  if (trace->devices.size() != 1) return cannot_run(path, "compare runs traces of one device");
  const tools::Rewound start = tools::rewind(*trace, 0, tools::recorded_settings(trace->settings).options);
  if (!start.consistent()) return cannot_run(path, "the trace contradicts itself");
  if (start.state.streams.size() > 1) return cannot_run(path, "compare runs traces of one stream");
  const tools::Program program = tools::make_program(trace->devices[0], start);
  if (std::ranges::any_of(program.ops, in_private_pool)) {
    return cannot_run(path, "compare runs traces without private pools");
  }
  Builder builder(program.slots);
  builder.start(start.state, program.start_slots);
  for (const Op& op : program.ops) builder.add(op);
  return builder.finish();
}

}  // namespace quarry::bench
