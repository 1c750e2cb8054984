// What driver calls cost on the simulated device. Every number names its row of reference/fragmentation.md section 6;
// a call without a figure there is free, and says so. The events' are of
// reference/performance.md section 4.
#include <algorithm>

#include <quarry/allocator/sim/device.h>

namespace quarry::sim {

namespace {

constexpr double kMicrosecond = 1e3;
// "event ... 0.3-1 us": of recording and querying; taken for every question to a stream or event.
constexpr CallCost kEventCall{0.5 * kMicrosecond, 0};
// One slope for all memory of the device, see allocate_segment.
constexpr double kPerMib = 0.5 * kMicrosecond;

constexpr CostProfile kA100{
    "a100",
    {{
        {0, 0},  // info: no figure
        // "cudaMalloc small: median 13.9 us". Slope: "2 GB in 2 MiB chunks (18 + 0.7 + 97 us each) is 115 x one
        // cuMemAlloc", which makes one of 2 GiB 1.03 ms, 0.5 us per MiB. The row "64 KB .. 64 MB: 180 .. 1200 us"
        // contradicts both and is not used.
        {13.9 * kMicrosecond, kPerMib},  // allocate_segment
        {46.7 * kMicrosecond, 0},        // release_segment: "cudaFree small: median 46.7 us"
        {0, 480.5 * kMicrosecond},       // allocate_host: "cudaHostAlloc 492 ms/GiB, linear"
        {0, 0},                          // release_host: no figure
        {0, 699.1 * kMicrosecond},       // register_host: "4 KiB pages: 1-2 GB/s", taken as 1.5
        {0, 0},                          // unregister_host: no figure
        {19 * kMicrosecond, 0},          // reserve: "cuMemAddressReserve 8 GB: 19 us"
        {0, 0},                          // unreserve: no figure
        // "cuMemCreate 2 MiB: 193 us"; with the slope "2 GB in 1 GiB chunks is 1.5 x one cuMemAlloc" comes out at 1.4.
        {193 * kMicrosecond, kPerMib},  // create_page
        {23 * kMicrosecond, 0},         // destroy_page: "vAttention 2 MiB: release 23 us"
        {1.45 * kMicrosecond, 0},       // map: "cuMemMap 2 MiB: 1.45 us"
        {36 * kMicrosecond, 0},         // set_access: "cuMemSetAccess 2 MiB: 36 us"; no figure for longer ranges
        {25.6 * kMicrosecond, 0},       // unmap: "cuMemUnmap 2 MiB: 25.6 us"; the same
        {0, 0},                         // stream_identity: no figure
        kEventCall,                     // create_event
        kEventCall,                     // destroy_event
        kEventCall,                     // record
        kEventCall,                     // query
        kEventCall,                     // wait_on_host, besides the wait
        kEventCall,                     // wait_on_stream
        kEventCall,                     // synchronize_stream, besides the wait
        kEventCall,                     // synchronize_device, besides the wait
        {0, 0},                         // capture_open: no figure
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
