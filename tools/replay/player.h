// One run of a program: a simulated device with the recorded addresses, an allocator over it, and what was counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>
#include "tools/replay/program.h"
#include "tools/replay/recorded_addresses.h"
#include "tools/sim_backend.h"

namespace quarry::tools {

struct ReplayTally {
  std::uint64_t matched = 0;
  std::uint64_t refused = 0;           // requests that our allocator could not serve
  std::uint64_t releases_refused = 0;  // recorded segment_free entries whose segment is in use here, or elsewhere
  std::optional<std::size_t> first_mismatch;  // index into Program::ops
  Address first_chosen;                       // what that request got; 0 if it was refused
  Bytes peak_allocated;
};

// Not movable: the device points at the script. One thread.
class Player {
 public:
  // `program` and `start` outlive the player.
  static Result<std::unique_ptr<Player>> open(const Program& program, const Rewound& start, const Options& options,
                                              const MakeSimBackend& make_backend = plain_sim_backend);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Runs on to operation `end`, not included.
  void run_to(std::size_t end);

  const ReplayTally& tally() const { return tally_; }
  Bytes peak_reserved() const;
  // Since the start state was restored.
  std::array<std::uint64_t, sim::kCallNames.size()> driver_calls() const;
  double driver_us() const;
  Snapshot snapshot() const { return gpu_.snapshot(); }
  std::string validate() const { return gpu_.validate(); }

 private:
  struct Slot {
    void* pointer = nullptr;  // null = no block
    Bytes size;
  };

  Player(const Program& program, const Rewound& start, std::shared_ptr<sim::Device> device, Allocator gpu);
  Status restore();

  void allocate(std::size_t index);
  void free_block(const Op& op);
  void release_segment(const Op& op);

  const Program& program_;
  const Rewound& start_;
  std::shared_ptr<sim::Device> device_;
  RecordedAddresses script_;
  Allocator gpu_;
  std::vector<Stream> streams_;  // by StreamId of the rewound state
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  Bytes allocated_;  // as the caller frees
  ReplayTally tally_;
  std::array<std::uint64_t, sim::kCallNames.size()> calls_before_{};
  std::uint64_t clock_before_ = 0;
};

}  // namespace quarry::tools
