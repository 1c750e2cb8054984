// How fast a snapshot is read, unpacking included: bytes per second are unpacked bytes.
// QUARRY_TRACE names another file than tests/data/traces/kv_cache.pickle.gz.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <quarry/stats/read.h>

namespace {

std::string trace_path() {
  if (const char* path = std::getenv("QUARRY_TRACE")) return path;
  const auto source = std::filesystem::path(__FILE__).parent_path();
  return (source / "../tests/data/traces/kv_cache.pickle.gz").lexically_normal().string();
}

void read_snapshot(benchmark::State& state) {
  const std::string path = trace_path();
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    auto trace = quarry::stats::read_snapshot(path);
    if (!trace) {
      state.SkipWithError(trace.error().message.c_str());
      break;
    }
    bytes += trace->file_bytes;
    benchmark::DoNotOptimize(*trace);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(read_snapshot)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
