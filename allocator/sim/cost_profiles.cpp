// What driver calls cost on the simulated device. Every number names its row of reference/fragmentation.md section 6;
// a call without a figure there is free, and says so.
#include <algorithm>

#include <quarry/allocator/sim/device.h>

namespace quarry::sim {

namespace {

constexpr double kMicrosecond = 1e3;

constexpr CostProfile kA100{
    "a100",
    {{
        {0, 0},  // info: no figure
        // "cudaMalloc small: median 13.9 us". Slope: "2 GB in 2 MiB chunks (18 + 0.7 + 97 us each) is 115 x one
        // cuMemAlloc", which makes one of 2 GiB 1.03 ms, 0.5 us per MiB. The row "64 KB .. 64 MB: 180 .. 1200 us"
        // contradicts both and is not used.
        {13.9 * kMicrosecond, 0.5 * kMicrosecond},  // allocate_segment
        {46.7 * kMicrosecond, 0},                   // release_segment: "cudaFree small: median 46.7 us"
        {0, 480.5 * kMicrosecond},                  // allocate_host: "cudaHostAlloc 492 ms/GiB, linear"
        {0, 0},                                     // release_host: no figure
        {0, 699.1 * kMicrosecond},                  // register_host: "4 KiB pages: 1-2 GB/s", taken as 1.5
        {0, 0},                                     // unregister_host: no figure
    }},
};

constexpr CostProfile kFree{"free", {}};

constexpr std::array kProfiles = {kA100, kFree};

}  // namespace

const CostProfile* find_profile(std::string_view name) {
  const auto found = std::find_if(kProfiles.begin(), kProfiles.end(),
                                  [&](const CostProfile& profile) { return profile.name == name; });
  return found == kProfiles.end() ? nullptr : &*found;
}

}  // namespace quarry::sim
