// Replay of a loaded trace: items are trace entries. QUARRY_TRACE names another file than kv_cache.
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>
#include <quarry/stats/read.h>

#include "tools/replay/player.h"
#include "tools/replay/settings.h"

namespace {

using namespace quarry;
using namespace quarry::tools;

std::string trace_path() {
  const char* path = std::getenv("QUARRY_TRACE");
  return path != nullptr ? path : QUARRY_TEST_DATA "/traces/kv_cache.pickle.gz";
}

void replay_trace(benchmark::State& state) {
  const Result<stats::Trace> trace = stats::read_snapshot(trace_path());
  if (!trace) return state.SkipWithError(trace.error().message.c_str());
  const Options options = recorded_settings(trace->settings).options;
  const Rewound start = rewind(*trace, 0, options);
  if (!start.consistent()) return state.SkipWithError("the trace contradicts itself");
  const Program program = make_program(trace->devices[0], start);
  for (auto _ : state) {
    state.PauseTiming();
    Result<std::unique_ptr<Player>> player = Player::open(program, start, options);
    if (!player) return state.SkipWithError(player.error().message.c_str());
    state.ResumeTiming();
    (*player)->run_to(program.ops.size());
    state.PauseTiming();
    if ((*player)->tally().first_mismatch) return state.SkipWithError("an address differs from the recorded one");
    player = Error{};
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(program.entries));
}
BENCHMARK(replay_trace)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
