#include <quarry/allocator/options.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include <quarry/allocator/option_values.h>

namespace quarry {

namespace {

using option_values::SizeRule;
using option_values::Word;

constexpr SizeRule kMemoryLimit{&Options::memory_limit, 1, Word::unlimited, kUnlimited};
constexpr SizeRule kLargeSegment{&Options::large_segment_size, 11, Word::none, Bytes{}};
constexpr SizeRule kMaxSplit{&Options::max_split_size, 20, Word::unlimited, kUnlimited};
constexpr SizeRule kNonSplit{&Options::max_non_split_rounding, 20, Word::automatic, kUnlimited};
constexpr SizeRule kPinnedReserve{&Options::pinned_reserve_segment_size, 1, Word::off, Bytes{}};
constexpr SizeRule kPinnedRound{&Options::pinned_max_round_threshold, 0, Word::unlimited, kUnlimited};
constexpr SizeRule kPinnedCached{&Options::pinned_max_cached_size, 0, Word::unlimited, kUnlimited};

Status parse_policy(std::string_view value, Options& into) {
  if (value != "pytorch" && value != "paged") return option_values::invalid("must be paged or pytorch");
  into.policy = value == "paged" ? Policy::paged : Policy::pytorch;
  return Done{};
}

std::string show_policy(const Options& from) { return from.policy == Policy::paged ? "paged" : "pytorch"; }

Status parse_placement(std::string_view value, Options& into) {
  if (value != "tight" && value != "fast") return option_values::invalid("must be tight or fast");
  into.placement = value == "tight" ? PlacementRule::tight : PlacementRule::fast;
  return Done{};
}

std::string show_placement(const Options& from) { return from.placement == PlacementRule::tight ? "tight" : "fast"; }

constexpr std::array<std::string_view, 3> kStreamWaits = {"none", "few", "all"};

Status parse_stream_waits(std::string_view value, Options& into) {
  const auto found = std::find(kStreamWaits.begin(), kStreamWaits.end(), value);
  if (found == kStreamWaits.end()) return option_values::invalid("must be none, few or all");
  into.stream_waits = static_cast<StreamWaits>(found - kStreamWaits.begin());
  return Done{};
}

std::string show_stream_waits(const Options& from) {
  return std::string(kStreamWaits[static_cast<std::size_t>(from.stream_waits)]);
}

Status parse_page_size(std::string_view value, Options& into) {
  const std::optional<std::uint64_t> kib = option_text::whole_number(value);
  if (!kib || !std::has_single_bit(*kib) || *kib < 64 || *kib > 65536) {
    return option_values::invalid("must be a power of two from 64 to 65536 KiB");
  }
  into.page_size = Bytes{*kib << 10};
  return Done{};
}

std::string show_page_size(const Options& from) { return std::to_string(from.page_size.count >> 10); }

Status parse_tie_break(std::string_view value, Options& into) {
  if (value != "address" && value != "segment") return option_values::invalid("must be address or segment");
  into.tie_break = value == "address" ? TieBreak::address : TieBreak::segment;
  return Done{};
}

std::string show_tie_break(const Options& from) { return from.tie_break == TieBreak::address ? "address" : "segment"; }

Status parse_host_numa(std::string_view value, Options& into) {
  if (value != "first_touch" && value != "interleave")
    return option_values::invalid("must be first_touch or interleave");
  into.host_numa = value == "first_touch" ? HostNuma::first_touch : HostNuma::interleave;
  return Done{};
}

std::string show_host_numa(const Options& from) {
  return from.host_numa == HostNuma::first_touch ? "first_touch" : "interleave";
}

Status parse_backend(std::string_view value, Options&) {
  if (value == "native") return Done{};
  if (value == "cudaMallocAsync") return option_values::unsupported("is not supported: only native is accepted");
  return option_values::invalid("must be native");
}

std::string show_backend(const Options&) { return "native"; }

std::string show_fraction(const Options& from) { return option_text::real_text(from.per_process_memory_fraction); }

std::string show_register_threads(const Options& from) { return std::to_string(from.pinned_num_register_threads); }

constexpr OptionInfo size_row(std::string_view key, std::string_view limits, std::string_view summary, Support support,
                              bool resets, Status (*parse)(std::string_view, Options&),
                              std::string (*show)(const Options&)) {
  return {key, "MiB", limits, summary, support, resets, parse, show};
}

template <bool Options::*field>
constexpr OptionInfo flag_row(std::string_view key, std::string_view summary, Support support) {
  return {key,
          "bool",
          "True or False",
          summary,
          support,
          false,
          option_values::parse_flag<field>,
          option_values::show_flag<field>};
}

constexpr std::array kTable = {
    OptionInfo{"policy", "name", "paged or pytorch", "how blocks are cut and found", Support::full, false, parse_policy,
               show_policy},
    OptionInfo{"tie_break", "name", "address or segment", "which of several free blocks of equal size is taken",
               Support::full, false, parse_tie_break, show_tie_break},
    size_row("memory_limit_mb", ">= 1 or unlimited", "bound on the reserved bytes of the space", Support::full, false,
             option_values::parse_size<kMemoryLimit>, option_values::show_size<kMemoryLimit>),
    OptionInfo{"placement", "name", "tight or fast", "least memory or least time (paged policy)", Support::full, false,
               parse_placement, show_placement},
    OptionInfo{"stream_waits", "name", "none, few or all",
               "coupled streams wait for each other instead of getting more pages (paged policy)", Support::full, false,
               parse_stream_waits, show_stream_waits},
    OptionInfo{"page_size_kb", "KiB", "a power of two from 64 to 65536",
               "pages of the paged policy; of 2048 KiB host spaces make 64", Support::full, false, parse_page_size,
               show_page_size},
    OptionInfo{"backend", "name", "native", "PyTorch's choice of allocator", Support::refused, false, parse_backend,
               show_backend},
    size_row("large_segment_size_mb", "> 10", "segment for large requests below 10 MiB", Support::full, false,
             option_values::parse_size<kLargeSegment>, option_values::show_size<kLargeSegment>),
    size_row("max_split_size_mb", ">= 20 or unlimited", "blocks of this size and more are not split", Support::full,
             true, option_values::parse_size<kMaxSplit>, option_values::show_size<kMaxSplit>),
    size_row("max_non_split_rounding_mb", ">= 20 or auto",
             "how much larger an unsplit block may be than its request; auto is the large segment size", Support::full,
             true, option_values::parse_size<kNonSplit>, option_values::show_size<kNonSplit>),
    OptionInfo{"roundup_power2_divisions", "count", "a power of two, or a list [MiB:count,...,>:count]",
               "round sizes up to this many steps per power of two", Support::full, true, option_values::parse_roundup,
               option_values::show_roundup},
    OptionInfo{"per_process_memory_fraction", "fraction", "0 to 1", "bound on reserved bytes as a part of the device",
               Support::full, false, option_values::parse_fraction, show_fraction},
    OptionInfo{"garbage_collection_threshold", "fraction", "above 0 and below 1, or off",
               "frees old cached segments above this part of the memory fraction", Support::full, true,
               option_values::parse_gc_threshold, option_values::show_gc_threshold},
    flag_row<&Options::expandable_segments>("expandable_segments", "segments that grow in place, page by page",
                                            Support::full),
    flag_row<&Options::release_lock_on_cudamalloc>("release_lock_on_cudamalloc",
                                                   "the lock is always dropped around driver calls that get memory",
                                                   Support::without_effect),
    flag_row<&Options::graph_capture_record_stream_reuse>(
        "graph_capture_record_stream_reuse", "blocks parked by a capture come back when their pool's scope ends",
        Support::full),
    flag_row<&Options::throw_on_cudamalloc_oom>("throw_on_cudamalloc_oom",
                                                "refuses a request before anything is given back", Support::full),
    flag_row<&Options::close_holes>(
        "close_holes", "mends what PyTorch's order of reclaiming misses, at the price of its answers", Support::full),
    flag_row<&Options::host_huge_pages>("host_huge_pages", "huge pages for the host's own memory from 2 MiB on",
                                        Support::full),
    OptionInfo{"host_numa", "name", "first_touch or interleave", "which memory nodes the host's own memory lies on",
               Support::full, false, parse_host_numa, show_host_numa},
    flag_row<&Options::pinned_use_cuda_host_register>("pinned_use_cuda_host_register",
                                                      "registers ordinary memory instead of asking for pinned memory",
                                                      Support::full),
    OptionInfo{"pinned_num_register_threads", "count", "a power of two from 1 to 128",
               "threads that touch new pages before they are registered", Support::full, false,
               option_values::parse_register_threads, show_register_threads},
    flag_row<&Options::pinned_use_background_threads>(
        "pinned_use_background_threads", "looks for finished events on a thread of its own", Support::without_effect),
    flag_row<&Options::pinned_free_catch_all>(
        "pinned_free_catch_all", "PyTorch's switch of that name for freeing pinned memory", Support::without_effect),
    size_row("pinned_reserve_segment_size_mb", ">= 1 or off", "one region from which pinned blocks are cut",
             Support::without_effect, false, option_values::parse_size<kPinnedReserve>,
             option_values::show_size<kPinnedReserve>),
    size_row("pinned_max_round_threshold_mb", ">= 0 or unlimited", "larger sizes are not rounded to a power of two",
             Support::without_effect, false, option_values::parse_size<kPinnedRound>,
             option_values::show_size<kPinnedRound>),
    size_row("pinned_max_cached_size_mb", ">= 0 or unlimited", "larger blocks are given back at once",
             Support::without_effect, false, option_values::parse_size<kPinnedCached>,
             option_values::show_size<kPinnedCached>),
};
static_assert(kTable.size() <= std::tuple_size_v<decltype(Options::origins)>);

const OptionInfo* find_row(std::string_view key) {
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const OptionInfo& info) { return info.key == key; });
  return row == kTable.end() ? nullptr : &*row;
}

Origin& origin_of(const OptionInfo& row, Options& options) {
  return options.origins[static_cast<std::size_t>(&row - kTable.data())];
}

std::string_view nearest_key(std::string_view key) {
  constexpr std::size_t kEnough = 64;  // more than any key has; hostile text must not cost more
  std::string_view nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const OptionInfo& row : kTable) {
    const std::size_t distance = option_text::edit_distance(row.key, key.substr(0, kEnough));
    if (distance >= least) continue;
    least = distance;
    nearest = row.key;
  }
  return nearest;
}

Error unknown_key(std::string_view key) {
  return option_values::invalid("unknown option " + option_text::quoted(key) + "; the nearest is '" +
                                std::string(nearest_key(key)) + "'");
}

Error not_an_entry(std::string_view part) {
  if (part.empty()) return option_values::invalid("an option is missing between two commas; write key:value,key:value");
  const std::string_view key = option_text::trim(part.substr(0, part.find(':')));
  if (find_row(key) == nullptr) return unknown_key(key);
  return option_values::invalid("option " + std::string(key) + " has no value; write " + std::string(key) + ":value");
}

Status apply(std::string_view part, Origin origin, Options& into) {
  const std::optional<option_text::Entry> entry = option_text::split_entry(part);
  if (!entry) return not_an_entry(part);
  const OptionInfo* row = find_row(entry->key);
  if (row == nullptr) return unknown_key(entry->key);
  const Status parsed = row->parse(entry->value, into);
  if (!parsed) {
    return Error{parsed.error().code, "option " + std::string(row->key) + ": " + parsed.error().message + "; got " +
                                          option_text::quoted(entry->value)};
  }
  origin_of(*row, into) = origin;
  return Done{};
}

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

Result<Options> parse_options(std::string_view text, const Options& base, Origin origin) {
  Options next = base;
  for (const std::string_view part : option_text::split_at_commas(text)) {
    const Status applied = apply(part, origin, next);
    if (!applied) return applied.error();
  }
  return next;
}

Result<Options> reconfigure(std::string_view text, const Options& base, Origin origin) {
  const Options defaults;
  Options start = base;
  for (const OptionInfo& row : kTable) {
    if (!row.resets) continue;
    const Status reset = row.parse(row.show(defaults), start);
    if (!reset) return reset.error();
    origin_of(row, start) = Origin::default_value;
  }
  return parse_options(text, start, origin);
}

std::string option_string(const Options& options) {
  const Options defaults;
  std::string text;
  for (const OptionInfo& row : kTable) {
    const std::string value = row.show(options);
    if (value == row.show(defaults)) continue;
    if (!text.empty()) text += ',';
    text.append(row.key).append(":").append(value);
  }
  return text;
}

Result<Options> options_from_environment(const Options& base) {
  const char* text = std::getenv("QUARRY_CONF");
  if (text == nullptr) return base;
  const Result<Options> parsed = parse_options(text, base, Origin::environment);
  if (!parsed) return Error{parsed.error().code, "QUARRY_CONF: " + parsed.error().message};
  return parsed;
}

}  // namespace quarry
