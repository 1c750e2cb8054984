// An independent model of the `pytorch` policy for plain segments: slow, plain, and written from the reference alone.
//
// Sources: reference/pytorch_allocator.md sections 2 to 4, 6, 8 and 10, conformance/FINDINGS.md. It shares no code with
// the allocator: linear scans over vectors, counters in a map by their PyTorch names. For every operation it says what
// must come back, which driver calls must be made, and what every counter and every block must be afterwards.
//
// It cannot know where the device puts a segment. Answers name segments by order of creation; the tie-break `address`
// needs the addresses, so whoever runs the allocator tells them (place).
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "support/operation.h"

namespace quarry::oracle {

enum class Kind : std::uint8_t { done, placed, null, skipped, out_of_memory, driver_error };

// A call to the driver for a segment, or to give one back.
struct SegmentCall {
  bool get = true;
  std::uint64_t size = 0;
  bool ok = true;

  friend bool operator==(const SegmentCall&, const SegmentCall&) = default;
};

struct Outcome {
  Kind kind = Kind::done;
  std::uint64_t segment = 0;  // placed
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t released = 0;  // empty_cache
  std::vector<SegmentCall> calls{};

  friend bool operator==(const Outcome&, const Outcome&) = default;
};
std::string to_text(const Outcome& outcome);
std::ostream& operator<<(std::ostream& out, Kind kind);

struct LayoutRow {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;  // 0 for a free block
  std::uint32_t stream = 0;
  bool live = false;

  friend bool operator==(const LayoutRow&, const LayoutRow&) = default;
};

// current, peak, allocated, freed.
using Row = std::array<std::int64_t, 4>;

class Oracle {
 public:
  explicit Oracle(const Start& start);

  Outcome apply(const Operation& operation);
  // The device put segment `number` at `address`.
  void place(std::uint64_t number, std::uint64_t address);

  // By the names of torch.cuda.memory_stats without the last part; a row that never moved is absent.
  const std::map<std::string, Row>& rows() const { return rows_; }
  std::uint64_t tally(const std::string& name) const {
    const auto found = tallies_.find(name);
    return found == tallies_.end() ? 0 : found->second;
  }
  // In order of segment number, then offset.
  std::vector<LayoutRow> layout() const;

 private:
  struct Block {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t requested = 0;
    std::uint32_t id = 0;
    bool live = false;
  };
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint32_t stream = 0;
    bool small = false;
    std::vector<Block> blocks;
  };
  // A block by its place in the two vectors; good until either changes.
  struct Place {
    std::size_t segment = 0;
    std::size_t block = 0;
  };
  struct Need {
    std::uint32_t id = 0;
    std::uint64_t requested = 0;
    std::uint64_t rounded = 0;
    std::uint64_t segment_size = 0;
    std::uint32_t stream = 0;
    bool small = false;
  };
  // Free blocks of a split segment.
  struct Idle {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
  };
  enum class Grown : std::uint8_t { yes, full, broken };

  Outcome run(const Allocate& op);
  Outcome run(const Free& op);
  Outcome run(const EmptyCache& op);
  Outcome run(const ResetPeak& op);
  Outcome run(const ResetAccumulated& op);
  Outcome run(const SetFraction& op);
  Outcome run(const Configure& op);
  Outcome run(const SetCapacity& op);
  Outcome run(const SetOutside& op);
  Outcome run(const FailSegment& op);

  void apply_settings(const Settings& settings);
  std::uint64_t round(std::uint64_t size) const;
  std::uint64_t segment_size(std::uint64_t rounded) const;

  bool free_before(Place a, Place b) const;
  std::vector<Place> free_set(bool small, const std::uint32_t* only_stream) const;
  bool find(const Need& need, Place& found) const;
  Outcome hand_out(Place place, const Need& need);
  void give_back(Segment& segment, Block& freed);
  static Idle idle(const Segment& segment);
  Outcome climb(const Need& need);
  Grown grow(const Need& need);
  bool release_oversize(const Need& need);
  std::uint64_t release_all();
  std::uint64_t release(const std::vector<std::uint64_t>& numbers);
  bool whole(Place place) const { return segments_[place.segment].blocks.size() == 1; }
  const Block& block(Place place) const { return segments_[place.segment].blocks[place.block]; }

  void count(const std::string& name, std::int64_t change);
  void count(const std::string& name, bool small, std::int64_t change);

  Start start_;
  std::uint64_t large_segment_ = 20ull << 20;
  std::uint64_t max_split_ = kUnlimited.count;
  std::uint64_t non_split_rounding_ = kUnlimited.count;  // kUnlimited: the large segment size
  std::array<std::uint32_t, 16> divisions_{};
  std::uint64_t fraction_limit_ = kUnlimited.count;

  std::vector<Segment> segments_;  // in order of creation
  std::uint64_t next_number_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t fault_in_ = 0;  // calls until the fault; 0 = none
  bool fault_other_ = false;
  std::vector<SegmentCall> calls_;
  std::map<std::string, Row> rows_;
  std::map<std::string, std::uint64_t> tallies_;
};

}  // namespace quarry::oracle
