// The planted race `merged_lists`: the free lists of all streams as one. A whole free segment of another stream is
// taken after a wait for an event of the stream that owned it first. Whoever takes it next waits for the same event,
// and not for what the stream in between has queued.
#include <map>
#include <utility>

#include <quarry/allocator/space.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {

Block* Space::take_merged(const Placement& placement, Lock& lock) {
  static std::map<std::pair<std::uint64_t, SegmentNumber>, EventHandle> events;
  Ordering& ordering = *driver_->ordering();
  Placement whole = placement;
  whole.size = placement.segment_size;
  const auto handle_of = [&](StreamId stream) { return reinterpret_cast<void*>(streams_.at(stream).handle); };
  for (std::uint32_t number = 0; number < streams_.handles().size(); ++number) {
    whole.stream = StreamId{number};
    if (whole.stream == placement.stream || streams_.at(whole.stream).state != StreamTable::State::open) continue;
    Block* block = default_pool_.heap->find_plain(whole);
    if (block == nullptr) continue;
    if (block->is_split()) {  // all blocks of a segment belong to one stream
      default_pool_.heap->insert(block);
      continue;
    }
    const auto [event, fresh] = events.try_emplace({identity_, block->segment->number});
    const Unlocked unlocked(lock);
    if (fresh) {
      event->second = ordering.create_event().value;
      (void)ordering.record(event->second, handle_of(whole.stream));
    }
    (void)ordering.wait_on_stream(handle_of(placement.stream), event->second);
    block->segment->stream = placement.stream;
    return block;
  }
  return nullptr;
}

}  // namespace quarry
