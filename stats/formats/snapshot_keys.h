// Every key a PyTorch snapshot is known to have (reference/snapshot_format.md section 2), as a small number. The keys
// are interned first, so the StringId of a known key is its number plus one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace quarry::stats::formats {

enum class Key : std::uint8_t {
  action,
  addr,
  device_free,
  size,
  stream,
  time_us,
  compile_context,
  user_metadata,
  internal_metadata,
  pool_id,
  frames,
  forward_frames,
  category,
  device,
  address,
  total_size,
  allocated_size,
  active_size,
  requested_size,
  segment_type,
  segment_pool_id,
  is_expandable,
  blocks,
  state,
  history,
  real_size,
  name,
  filename,
  line,
  fx_node_op,
  fx_node_name,
  fx_node_target,
  fx_original_trace,
  fx_node_info,
  segments,
  device_traces,
  allocator_settings,
  external_annotations,
  host_segments,
  host_traces,
  conf,
  max_split_size,
  garbage_collection_threshold,
  expandable_segments,
  pinned_num_register_threads,
  release_lock_on_cudamalloc,
  pinned_use_cuda_host_register,
  graph_capture_record_stream_reuse,
  max_round_threshold,
  max_cached_size,
  roundup_power2_divisions,
  trace_alloc_overflowed,
  trace_alloc_max_entries,
};

inline constexpr std::array<std::string_view, 53> kKeyNames = {"action",
                                                               "addr",
                                                               "device_free",
                                                               "size",
                                                               "stream",
                                                               "time_us",
                                                               "compile_context",
                                                               "user_metadata",
                                                               "internal_metadata",
                                                               "pool_id",
                                                               "frames",
                                                               "forward_frames",
                                                               "category",
                                                               "device",
                                                               "address",
                                                               "total_size",
                                                               "allocated_size",
                                                               "active_size",
                                                               "requested_size",
                                                               "segment_type",
                                                               "segment_pool_id",
                                                               "is_expandable",
                                                               "blocks",
                                                               "state",
                                                               "history",
                                                               "real_size",
                                                               "name",
                                                               "filename",
                                                               "line",
                                                               "fx_node_op",
                                                               "fx_node_name",
                                                               "fx_node_target",
                                                               "fx_original_trace",
                                                               "fx_node_info",
                                                               "segments",
                                                               "device_traces",
                                                               "allocator_settings",
                                                               "external_annotations",
                                                               "host_segments",
                                                               "host_traces",
                                                               "PYTORCH_CUDA_ALLOC_CONF",
                                                               "max_split_size",
                                                               "garbage_collection_threshold",
                                                               "expandable_segments",
                                                               "pinned_num_register_threads",
                                                               "release_lock_on_cudamalloc",
                                                               "pinned_use_cuda_host_register",
                                                               "graph_capture_record_stream_reuse",
                                                               "max_round_threshold",
                                                               "max_cached_size",
                                                               "roundup_power2_divisions",
                                                               "trace_alloc_overflowed",
                                                               "trace_alloc_max_entries"};

constexpr std::string_view key_name(Key key) { return kKeyNames[static_cast<std::size_t>(key)]; }

// A set of keys.
using KeySet = std::uint64_t;
static_assert(kKeyNames.size() <= 64);

template <class... Keys>
constexpr KeySet key_set(Keys... keys) {
  return (KeySet{0} | ... | (KeySet{1} << static_cast<unsigned>(keys)));
}
constexpr KeySet key_range(Key first, Key last) {
  return ((KeySet{2} << static_cast<unsigned>(last)) - 1) & ~((KeySet{1} << static_cast<unsigned>(first)) - 1);
}

inline constexpr KeySet kEntryKeys = key_range(Key::action, Key::category);
inline constexpr KeySet kSegmentKeys =
    key_range(Key::device, Key::blocks) | key_set(Key::stream, Key::frames, Key::forward_frames);
inline constexpr KeySet kBlockKeys =
    key_set(Key::address, Key::size, Key::requested_size, Key::state, Key::frames, Key::forward_frames, Key::history);
inline constexpr KeySet kHistoryKeys = key_set(Key::addr, Key::real_size, Key::frames);
inline constexpr KeySet kFrameKeys = key_range(Key::name, Key::fx_node_info);
inline constexpr KeySet kRootKeys = key_range(Key::segments, Key::host_traces);
inline constexpr KeySet kSettingsKeys = key_range(Key::conf, Key::trace_alloc_max_entries);

}  // namespace quarry::stats::formats
