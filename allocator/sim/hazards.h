// Judges uses of memory by happens-before.
//
// Bytes have places, one number each however many addresses they have: the address where memory has only one, a number
// of its own for the bytes of a page. For each place the newest uses are kept that a later use, a release or an unmap
// could still clash with: what the host has seen finished cannot, nor what a kept use already comes after.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <quarry/allocator/sim/hazard.h>
#include <quarry/allocator/sim/vector_clock.h>

namespace quarry::sim {

// Bytes of one use: [place, place + size), reached through the mapping numbered `via`, 0 where there is none.
struct Places {
  std::uint64_t place = 0;
  Bytes size;
  std::uint64_t via = 0;
};

// Who uses: `clock` is what happens before, itself included; `host` what the host has seen the end of.
struct Actor {
  std::size_t slot;
  std::uint64_t sequence;
  const VectorClock& clock;
  const VectorClock& host;
};

// Not synchronised; the device locks.
class Hazards {
 public:
  void use(const Actor& actor, const Use& use, const std::vector<Places>& places);
  void stray(const Use& use) { report({HazardKind::stray, {}, use}); }
  // The end of a range by the host: uses of it (through `via`, if that is not 0) that the host has not seen finished.
  void end(HazardKind kind, const Use& by_host, const std::vector<Places>& places, const VectorClock& host);
  // The bytes are gone; what comes at the same place is something else.
  void forget(const Places& places);

  const std::vector<Hazard>& found() const { return found_; }
  std::vector<Hazard> take();
  std::size_t cells() const { return cells_.size(); }

 private:
  struct Past {
    std::size_t slot;
    std::uint64_t sequence;
    std::uint64_t via;
    Use use;

    friend bool operator==(const Past&, const Past&) = default;
  };
  struct Cell {
    std::uint64_t end;
    std::vector<Past> past;
  };
  using Cells = std::map<std::uint64_t, Cell>;  // by begin; none meet
  class Once;                                   // reports each earlier use once

  void report(const Hazard& hazard);
  void cut(std::uint64_t place);
  void fill(std::uint64_t begin, std::uint64_t end);
  void merge(std::uint64_t begin, std::uint64_t end);
  void sweep(const VectorClock& host);

  Cells cells_;
  std::size_t sweep_at_ = 1024;
  std::vector<Hazard> found_;
};

}  // namespace quarry::sim
