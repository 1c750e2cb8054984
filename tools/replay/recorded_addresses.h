// Gives the simulated device the addresses of a recording.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <quarry/allocator/sim/device.h>
#include "tools/replay/program.h"

namespace quarry::tools {

// First the segments of the rewound start, one after the other; then every grow gets the next recorded segment_alloc of
// equal size and stream. Where there is none, or its range is taken because the runs have parted, an address no
// recording has. One thread.
class RecordedAddresses final : public sim::AddressScript {
 public:
  RecordedAddresses(std::span<const SegmentView> start, std::span<const GrownSegment> grown,
                    std::span<const GrownSegment> reservations = {});

  // The stream of the requests that follow.
  void use_stream(StreamId stream) { stream_ = stream; }
  // The recording gave a segment back, and so did we.
  void released(Address base) { in_use_.erase(base); }
  // The recording gave back a segment that we never got at that place: this life of the address is over.
  void withdraw(const GrownSegment& segment);

  Address next(Bytes size) override;
  // The next recorded expandable segment of the stream.
  Address next_reservation(Bytes size) override;
  std::uint64_t foreign() const { return foreign_; }

 private:
  using Key = std::pair<Bytes, StreamId>;

  bool taken(Address base, Bytes size) const;
  Address place(Address base, Bytes size);
  Address place_foreign(Bytes size);

  std::deque<Address> start_;
  std::map<Key, std::deque<Address>> grown_;
  std::map<StreamId, std::deque<Address>> reservations_;
  std::map<Address, Bytes> in_use_;
  StreamId stream_ = kDefaultStream;
  Address next_foreign_{1ull << 62};
  std::uint64_t foreign_ = 0;
};

}  // namespace quarry::tools
