// The planted race `merged_lists`: the free lists of all streams as one. A whole free segment of another stream is
// taken after a wait for an event of the stream that owned it first. A third stream that takes it next waits for the
// same event, and not for what the stream in between has queued. The first owner gets it back in order: it waits for
// the stream that has it.
#include <map>
#include <memory>
#include <utility>

#include <quarry/allocator/space.h>
#include <quarry/allocator/unlocked.h>

namespace quarry {
namespace {

// Of a segment that was taken from its first owner.
struct Taken {
  StreamId first_owner;
  EventHandle event;
};

}  // namespace

Block* Space::take_merged(const Placement& placement, Lock& lock) {
  if (!scopes_.empty()) return nullptr;  // the request may be one of a private pool
  static std::map<std::pair<std::shared_ptr<const char>, SegmentNumber>, Taken> taken;  // by life_, which it keeps
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
    const std::pair key(life_, block->segment->number);
    const auto known = taken.find(key);
    const bool fresh = known == taken.end() || known->second.first_owner == placement.stream;
    const Unlocked unlocked(lock);
    if (fresh) {
      const EventHandle event = ordering.create_event().value;
      (void)ordering.record(event, handle_of(whole.stream));
      taken[key] = {whole.stream, event};
    }
    (void)ordering.wait_on_stream(handle_of(placement.stream), taken[key].event);
    if (known != taken.end() && fresh) taken.erase(key);  // it is with its first owner again
    block->segment->stream = placement.stream;
    return block;
  }
  return nullptr;
}

}  // namespace quarry
