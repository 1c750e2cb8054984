// One table of options: field, name in option strings and in QUARRY_CONF, unit, default, limits.
//
// Grammar (PyTorch's where the meaning is the same): `key:value,key:value`; lists `[a:b,c:d]`; white space around a key
// or a value is ignored; booleans are exactly True or False; of a key given twice the later value counts. Defaults for
// which PyTorch has no text have a word here: unlimited, off, auto. An unknown key (the error names the nearest) or a
// bad value is an error, and then nothing of the string is applied. A key whose effect this version does not have is
// refused, never ignored.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include <quarry/allocator/result.h>
#include <quarry/allocator/types.h>

namespace quarry {

inline constexpr Bytes kUnlimited{std::numeric_limits<std::uint64_t>::max()};

enum class Policy : std::uint8_t { pytorch, paged };

// How the paged policy places a request.
enum class PlacementRule : std::uint8_t {
  tight,  // scores candidates by the worth of what stays free
  fast    // good fit; on a miss grows or stitches, whichever takes fewer pages
};

// When the paged policy makes a stream wait for another instead of getting more pages; before an out-of-memory it does
// in any case. Only streams that the program itself makes wait for each other are ever coupled so.
enum class StreamWaits : std::uint8_t {
  none,
  few,  // for bytes that were freed some requests ago
  all
};

// Where the pages of host memory lie on a machine with several memory nodes.
enum class HostNuma : std::uint8_t {
  first_touch,  // near the processor that touches them first
  interleave    // spread evenly over all nodes
};

// Where the value of an option came from; the later one wins.
enum class Origin : std::uint8_t { default_value, file, environment, command_line, api };

// Divisions of each power-of-two interval: 1 MiB..2 MiB (and below) first, 32 GiB and above last; 0 or 1 = plain 512 B
// rounding.
using RoundupDivisions = std::array<std::uint32_t, 16>;

// Plain values, valid as they stand. Sizes in bytes.
struct Options {
  Policy policy = Policy::paged;
  TieBreak tie_break = TieBreak::segment;
  Bytes memory_limit = kUnlimited;  // bound on reserved bytes of the space

  // Of the paged policy.
  PlacementRule placement = PlacementRule::tight;
  StreamWaits stream_waits = StreamWaits::few;
  Bytes page_size{2ull << 20};  // a power of two, and a multiple of what the driver maps

  // PyTorch's, by its names (the `_mb` keys are stored in bytes).
  Bytes large_segment_size{20ull << 20};
  Bytes max_split_size = kUnlimited;
  // Unset (kUnlimited) means: the large segment size in force.
  Bytes max_non_split_rounding = kUnlimited;
  RoundupDivisions roundup_power2_divisions{};
  double per_process_memory_fraction = 1.0;
  double garbage_collection_threshold = 0;  // 0 = off
  bool expandable_segments = false;
  bool throw_on_cudamalloc_oom = false;
  bool release_lock_on_cudamalloc = false;  // without effect: the lock is always dropped around driver calls
  bool graph_capture_record_stream_reuse = false;
  bool close_holes =
      false;  // mend what reference/pytorch_allocator.md section 5 lists, at the price of the recorded answer

  // Of the host's own memory: pageable, registered or locked.
  bool host_huge_pages = false;
  HostNuma host_numa = HostNuma::first_touch;

  // PyTorch's pinned_* keys. The first two choose how pinned memory is made (open_pinned); the rest mend what this
  // allocator does not do, and are read and checked only.
  bool pinned_use_cuda_host_register = false;
  std::uint32_t pinned_num_register_threads = 1;
  bool pinned_use_background_threads = false;
  bool pinned_free_catch_all = false;
  Bytes pinned_reserve_segment_size{0};
  Bytes pinned_max_round_threshold = kUnlimited;
  Bytes pinned_max_cached_size = kUnlimited;

  std::array<Origin, 32> origins{};  // by index into option_table()

  Bytes effective_max_non_split_rounding() const {
    return max_non_split_rounding == kUnlimited ? large_segment_size : max_non_split_rounding;
  }

  friend bool operator==(const Options&, const Options&) = default;
};

enum class Support : std::uint8_t {
  full,
  without_effect,  // accepted and checked; nothing reads it yet
  refused,         // a known key of PyTorch's; only its default value is accepted
};

// One row of the table.
struct OptionInfo {
  std::string_view key;
  std::string_view unit;     // "MiB", "bool", "fraction", "count", ...
  std::string_view limits;   // for people
  std::string_view summary;  // one line
  Support support;
  bool resets;  // an absent key goes back to its default at every run-time string (PyTorch's rule)
  // `value` is trimmed and not empty. On error `into` is unchanged and the message is the broken rule, without key.
  Status (*parse)(std::string_view value, Options& into);
  // The text that parse reads back as the same value. (A size set through the API that is no whole MiB shows in bytes.)
  std::string (*show)(const Options& from);
};

std::span<const OptionInfo> option_table();

// Applies `text` on top of `base`; on error returns it and nothing is applied. `origin` is noted for every key named.
Result<Options> parse_options(std::string_view text, const Options& base, Origin origin);

// The same as a run-time change (Allocator::configure): keys whose row says `resets` fall back to their defaults first.
Result<Options> reconfigure(std::string_view text, const Options& base, Origin origin);

// The options that are not at their default, as text that parse_options takes back; empty if there are none.
std::string option_string(const Options& options);

// Options from the environment variable QUARRY_CONF on top of `base`; `base` where it is not set.
Result<Options> options_from_environment(const Options& base);

}  // namespace quarry
