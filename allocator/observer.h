// The hook that instruments hang on. The allocator knows nothing of what an observer does with a record.
#pragma once

#include <cstdint>

#include <quarry/allocator/types.h>

namespace quarry {

// Same names as PyTorch's trace actions (reference/snapshot_format.md 2.3).
enum class Action : std::uint8_t {
  alloc,           // address and requested bytes of a request just served
  free_requested,  // the caller gave the block back; requested bytes
  free_completed,  // the block may be reused; requested bytes
  segment_alloc,   // the driver gave a segment; its bytes
  segment_free,    // a segment went back to the driver; its bytes
  segment_map,     // a run of pages was mapped; its bytes
  segment_unmap,   // a run of pages was unmapped; its bytes
  oom,             // a request was refused; address 0, size = rounded request, device_free filled
};

// `sequence` is one counter per space, counted only while an observer is attached.
// Records of one address come in the order in which that address changed hands.
struct Record {
  std::uint64_t sequence = 0;
  Action action = Action::alloc;
  Address address;
  Bytes size;
  StreamId stream = kDefaultStream;
  PoolId pool;
  Tag tag{};
  Bytes device_free;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Called under the heap lock of the space: be quick, take no lock that is held while calling the allocator,
  // and never call the allocator. May allocate from the process heap.
  virtual void on_record(const Record& record) noexcept = 0;
};

}  // namespace quarry
