#include <quarry/stats/trace.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace quarry::stats {
namespace {

constexpr std::size_t kChunk = 16 << 10;

constexpr std::array<std::string_view, kTraceActions> kActionNames = {
    "alloc",         "free_requested", "free_completed",
    "segment_alloc", "segment_free",   "segment_map",
    "segment_unmap", "snapshot",       "oom"};

std::uint64_t draw_seed() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

}  // namespace

std::uint64_t hash_seed() {
  static const std::uint64_t seed = draw_seed();
  return seed;
}

std::string_view action_name(TraceAction action) { return kActionNames[static_cast<std::size_t>(action)]; }

std::optional<TraceAction> action_from_name(std::string_view name) {
  const auto found = std::find(kActionNames.begin(), kActionNames.end(), name);
  if (found == kActionNames.end()) return std::nullopt;
  return static_cast<TraceAction>(found - kActionNames.begin());
}

StringTable::StringTable() { intern(""); }

StringId StringTable::intern(std::string_view text) {
  const auto next = static_cast<std::uint32_t>(texts_.size());
  const auto same = [&](std::uint32_t id) { return texts_[id] == text; };
  const std::uint32_t id = index_.find_or_add(index_.hash(text.data(), text.size()), next, same);
  if (id == next) texts_.push_back(store(text));
  return StringId{id};
}

std::string_view StringTable::store(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > chunk_left_) {
    const std::size_t size = std::max(kChunk, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    if (size > kChunk) {  // a chunk of its own; the open one goes on
      std::memcpy(chunks_.back().get(), text.data(), text.size());
      return {chunks_.back().get(), text.size()};
    }
    chunk_next_ = chunks_.back().get();
    chunk_left_ = size;
  }
  std::memcpy(chunk_next_, text.data(), text.size());
  const std::string_view stored(chunk_next_, text.size());
  chunk_next_ += text.size();
  chunk_left_ -= text.size();
  return stored;
}

StackTable::StackTable() { intern({}); }

StackId StackTable::intern(std::span<const Frame> frames) {
  static_assert(sizeof(Frame) == 16, "no padding: frames are hashed as bytes");
  const auto next = static_cast<std::uint32_t>(spans_.size());
  const auto same = [&](std::uint32_t id) {
    const std::span<const Frame> known = at(StackId{id});
    return std::equal(known.begin(), known.end(), frames.begin(), frames.end());
  };
  const std::uint32_t id = index_.find_or_add(index_.hash(frames.data(), frames.size_bytes()), next, same);
  if (id == next) {
    spans_.push_back({frames_.size(), static_cast<std::uint32_t>(frames.size())});
    frames_.insert(frames_.end(), frames.begin(), frames.end());
  }
  return StackId{id};
}

std::span<const Frame> StackTable::at(StackId id) const {
  const Span& span = spans_[static_cast<std::size_t>(id)];
  return std::span(frames_).subspan(span.offset, span.count);
}

PoolIndex Trace::pool_index(PoolId id) {
  const auto found = std::find(pools.begin(), pools.end(), id);
  const auto index = static_cast<std::size_t>(found - pools.begin());
  if (index >= static_cast<std::size_t>(kUnknownPool)) return kUnknownPool;
  if (found == pools.end()) pools.push_back(id);
  return PoolIndex{static_cast<std::uint16_t>(index)};
}

}  // namespace quarry::stats
