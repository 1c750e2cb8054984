#include <quarry/allocator/reclaim/ladder.h>

#include <array>
#include <optional>

namespace quarry {
namespace {

// A rung gives something back and tries again; empty = climb on.
using Answer = std::optional<Climb>;
struct Rung {
  std::string_view name;
  Answer (*step)(Climber& climber);
};

Answer found(Block* block) {
  if (block == nullptr) return std::nullopt;
  return Climb{Outcome::served, block, {}};
}

Answer grown(Climber& climber) {
  const DriverResult<Block*> got = climber.grow();
  if (got) return found(got.value);
  if (got.status.code != DriverCode::out_of_memory) return Climb{Outcome::failed, nullptr, got.status};
  return std::nullopt;
}

Answer callbacks(Climber& c) { return c.run_callbacks() ? found(c.search()) : std::nullopt; }

Answer first_growth(Climber& c) {
  c.collect_garbage();
  if (c.rejects()) return Climb{Outcome::rejected, nullptr, {}};
  return grown(c);
}

Answer borrow(Climber& c) { return found(c.borrow()); }

Answer oversize(Climber& c) { return c.release_oversize() ? grown(c) : std::nullopt; }

// The wait can bring back a fitting block, but the recorded order does not look for it (issue 189504), and a pool in
// use does not get its own cached segments back (issue 159674). close_holes mends both.
Answer cached(Climber& c) {
  if (!c.may_wait()) return std::nullopt;
  const bool mended = c.close_holes();
  c.wait_for_pending();
  if (mended) {
    if (Answer block = found(c.search())) return block;
  }
  c.release_cached(mended);
  c.count_retry();
  return grown(c);
}

Answer again(Climber& c) {
  c.look_again();
  return found(c.search());
}

// A stream that waits costs the host nothing.
Answer ordered(Climber& c) { return c.wait_on_streams() ? grown(c) : std::nullopt; }

// In the paged policy growing comes after all that is free at once, and waiting before anything is given back: a page
// that is given back and asked for again costs two calls.
Answer waited(Climber& c) {
  if (!c.may_wait()) return std::nullopt;
  c.wait_for_pending();
  if (Answer block = found(c.search())) return block;
  return grown(c);
}

Answer given_back(Climber& c) {
  if (!c.may_wait()) return std::nullopt;
  c.release_cached(false);
  c.count_retry();
  return grown(c);
}

Answer anywhere(Climber& c) { return found(c.search_anywhere()); }

constexpr std::array kPytorch = {
    Rung{"free-memory callbacks", callbacks},
    Rung{"garbage collection and a new segment", first_growth},
    Rung{"pools that lend when memory is out", borrow},
    Rung{"oversize blocks of this stream", oversize},
    Rung{"pending frees and every cached segment", cached},
};

constexpr std::array kPaged = {
    Rung{"finished events and front caches", again},
    Rung{"free-memory callbacks", callbacks},
    Rung{"garbage collection and more pages", first_growth},
    Rung{"bytes of other streams after a wait", ordered},
    Rung{"pending frees and the frees of all streams", waited},
    Rung{"pools that lend when memory is out", borrow},
    Rung{"cached pages", given_back},
    Rung{"whatever fits, against the rules of the placement", anywhere},
};

Climb climb(Climber& climber, std::span<const Rung> rungs) {
  for (const Rung& rung : rungs) {
    if (const Answer answer = rung.step(climber)) return *answer;
  }
  return {Outcome::refused, nullptr, {DriverCode::out_of_memory}};
}

}  // namespace

Climb climb_pytorch(Climber& climber) { return climb(climber, kPytorch); }
Climb climb_paged(Climber& climber) { return climb(climber, kPaged); }

}  // namespace quarry
