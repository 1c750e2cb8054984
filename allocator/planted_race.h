// Known races, for the tests that prove the hunt for hazards (tests/hunt): each can be switched on in the real code, in
// a library of its own that is built with QUARRY_PLANTED_RACES. In every other build nothing of them is left.
#pragma once

#if defined(QUARRY_PLANTED_RACES)

#include <atomic>

namespace quarry {

enum class PlantedRace {
  none,
  early_free,    // a freed block is visible before its events are recorded
  merged_lists,  // a second stream takes a free block after waiting for an event, a third after waiting for the same
                 // one
  stale_handle,  // a re-created stream handle is taken for the old stream
  early_unmap    // pages go while work of their own stream is queued
};
inline std::atomic<PlantedRace> planted_race{PlantedRace::none};

}  // namespace quarry

// A statement that runs while `race` is switched on.
#define QUARRY_PLANTED(race, ...) \
  if (::quarry::planted_race.load() == ::quarry::PlantedRace::race) __VA_ARGS__

#else

#define QUARRY_PLANTED(race, ...)

#endif
