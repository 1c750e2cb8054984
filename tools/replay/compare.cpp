#include "tools/replay/compare.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <quarry/stats/summary.h>
#include "tools/replay/compare_player.h"
#include "tools/replay/compare_subjects.h"
#include "tools/replay/pack.h"

namespace quarry::tools {
namespace {

constexpr Bytes kPage{2ull << 20};

// A device with the streams of a workload.
struct Bench {
  explicit Bench(const Workload& workload, const CompareOptions& options) {
    sim::DeviceOptions wanted;
    wanted.capacity = options.capacity;
    wanted.granularity = kPage;
    wanted.page_granularity = std::min(kPage, options.base.page_size);
    device = std::make_shared<sim::Device>(wanted);
    handles.push_back(nullptr);
    while (handles.size() < workload.streams) handles.push_back(device->create_stream());
  }

  std::shared_ptr<sim::Device> device;
  std::vector<void*> handles;  // by number
};

template <class Subject>
void play(const Workload& workload, const CompareOptions& options, Bench& bench, Subject& subject, CompareRun& run) {
  ComparePlayer<Subject> player(workload, *bench.device, bench.handles, options.event_lag, subject);
  player.run(options.repeat, run);
  run.allocations = workload.allocations * options.repeat;
  run.frees = workload.frees * options.repeat;
}

Status run_allocator(const Workload& workload, const PolicyEntry& policy, const CompareOptions& options,
                     CompareRun& run) {
  run.options = policy.options(options.base);
  Bench bench(workload, options);
  Result<Allocator> gpu = Allocator::open(bench.device, *run.options);
  if (!gpu) return gpu.error();
  for (const PoolId pool : workload.pools) {
    if (pool == kDefaultPool) continue;
    if (Status created = gpu->create_pool(pool); !created) return created.error();
  }
  AllocatorSubject subject(*std::move(gpu), workload, bench.handles);
  play(workload, options, bench, subject, run);
  return Done{};
}

Status run_peer(const Workload& workload, PolicyKind kind, const CompareOptions& options, CompareRun& run) {
  if (options.event_lag != 0 && workload.names_users) {
    return Error{ErrorCode::unsupported, fmt::format("{} has no pending frees", run.policy)};
  }
  Bench bench(workload, options);
  if (kind == PolicyKind::exact_size) {
    PeerSubject<ExactSizeCache> subject(*bench.device, workload);
    play(workload, options, bench, subject, run);
  } else {
    PeerSubject<BinCache> subject(*bench.device, workload, bench.handles);
    play(workload, options, bench, subject, run);
  }
  return Done{};
}

// Every iteration can use the same places.
void run_packed(const Workload& workload, const CompareOptions& options, CompareRun& run) {
  const Packing packing = pack(pack_items(workload), options.packing_budget);
  run.peak_allocated = packing.bound;
  run.peak_requested_active = workload.peak_requested_active;
  run.peak_reserved = {(packing.height.count + kPage.count - 1) / kPage.count * kPage.count};
  const auto text = [](Bytes bytes) { return stats::format_bytes(bytes, stats::Units::bytes); };
  run.note = fmt::format("{}, {} high; {} live at once", packing.method, text(packing.height), text(packing.bound));
}

}  // namespace

double CompareRun::fragmentation() const {
  return peak_requested.count ? static_cast<double>(peak_reserved.count) / static_cast<double>(peak_requested.count)
                              : 0;
}

double CompareRun::fragmentation_active() const {
  return peak_requested_active.count
             ? static_cast<double>(peak_reserved.count) / static_cast<double>(peak_requested_active.count)
             : 0;
}

CallCounts CompareRun::driver_calls() const {
  CallCounts all{};
  for (const CompareIteration& iteration : iterations) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += iteration.driver_calls[i];
  }
  return all;
}

double CompareRun::driver_us() const {
  double all = 0;
  for (const CompareIteration& iteration : iterations) all += iteration.driver_us;
  return all;
}

double CompareRun::ns_per_op() const {
  double all = 0;
  for (const CompareIteration& iteration : iterations) all += iteration.ns_per_op;
  return iterations.empty() ? 0 : all / static_cast<double>(iterations.size());
}

Status check_workload(const Workload& workload) {
  constexpr Bytes kMostBytes{8ull << 40};
  constexpr std::uint32_t kMostStreams = 4096;
  if (workload.peak_requested_active > kMostBytes) {
    return Error{ErrorCode::invalid, fmt::format("{} bytes live at once: more than the 8 TiB that are simulated",
                                                 workload.peak_requested_active.count)};
  }
  if (workload.streams > kMostStreams) {
    return Error{ErrorCode::invalid,
                 fmt::format("{} streams: more than the 4,096 that are simulated", workload.streams)};
  }
  return Done{};
}

Result<CompareRun> run_policy(const Workload& workload, std::string_view key, const CompareOptions& options) {
  const PolicyEntry* const policy = find_policy(key);
  if (policy == nullptr) return Error{ErrorCode::invalid, fmt::format("no policy is called '{}'", key)};
  if (Status sound = check_workload(workload); !sound) return sound.error();
  CompareRun run;
  run.policy = policy->key;
  run.peak_requested = workload.peak_requested;
  switch (policy->kind) {
    case PolicyKind::allocator:
      if (Status ran = run_allocator(workload, *policy, options, run); !ran) return ran.error();
      break;
    case PolicyKind::exact_size:
    case PolicyKind::bins:
      if (Status ran = run_peer(workload, policy->kind, options, run); !ran) return ran.error();
      break;
    case PolicyKind::packed:
      run_packed(workload, options, run);
      break;
    case PolicyKind::bound:
      run.peak_requested_active = workload.peak_requested_active;
      run.peak_reserved = run.peak_allocated = workload.peak_requested;
      break;
  }
  if (policy->kind == PolicyKind::packed || policy->kind == PolicyKind::bound) {
    run.allocations = workload.allocations;
    run.frees = workload.frees;
  }
  return run;
}

void rank(std::vector<CompareRun>& runs) {
  std::ranges::stable_sort(runs, [](const CompareRun& a, const CompareRun& b) {
    if (a.peak_reserved != b.peak_reserved) return a.peak_reserved < b.peak_reserved;
    return find_policy(a.policy) < find_policy(b.policy);
  });
}

}  // namespace quarry::tools
