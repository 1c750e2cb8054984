#include <quarry/allocator/sim/streams.h>

#include <algorithm>
#include <utility>

namespace quarry::sim {

namespace {

// Far from any handle that a caller makes up.
constexpr std::uintptr_t kFirstHandle = std::uintptr_t{0x53} << 56;

}  // namespace

Streams::Streams() { open_stream(nullptr); }

Stream* Streams::find(void* handle) {
  if (const auto found = by_handle_.find(handle); found != by_handle_.end()) return streams_[found->second].get();
  if (const auto made = made_.find(handle); made != made_.end() && !made->second) return nullptr;
  return &open_stream(handle);
}

// A slot may have a new stream once the host has seen the end of all that was queued on the old one: whatever is still
// to come is ordered after that.
Stream& Streams::open_stream(void* handle) {
  const auto over = std::find_if(streams_.begin(), streams_.end(), [&](const std::unique_ptr<Stream>& old) {
    return !old->open && old->queue.empty() && (old->last == 0 || host_.covers(old->slot, old->last));
  });
  auto fresh = std::make_unique<Stream>();
  fresh->handle = handle;
  fresh->identity = next_identity_++;
  fresh->slot = static_cast<std::size_t>(over - streams_.begin());
  fresh->ready_ns = now_;
  by_handle_.emplace(handle, fresh->slot);
  if (over == streams_.end()) return *streams_.emplace_back(std::move(fresh));
  fresh->first = fresh->last = (*over)->last;
  return *(*over = std::move(fresh));
}

void* Streams::create() {
  const auto unused = std::find_if(made_.begin(), made_.end(), [](const auto& made) { return !made.second; });
  void* const handle =
      unused != made_.end() ? unused->first : reinterpret_cast<void*>(kFirstHandle + (made_.size() << 8));
  made_[handle] = true;
  open_stream(handle);
  return handle;
}

bool Streams::destroy(void* handle) {
  const auto found = by_handle_.find(handle);
  if (handle == nullptr || found == by_handle_.end() || streams_[found->second]->capture != 0) return false;
  unhold(*streams_[found->second]);
  streams_[found->second]->open = false;
  by_handle_.erase(found);
  if (const auto made = made_.find(handle); made != made_.end()) made->second = false;
  return true;
}

void Streams::pass(double ns) {
  now_ += ns;
  run();
}

std::uint64_t Streams::append(Stream& stream, Stream::Piece piece) {
  stream.clock.join(host_);
  stream.clock.see(stream.slot, ++stream.last);
  piece.sequence = stream.last;
  piece.queued_ns = now_;
  if (piece.mark) {
    piece.mark->slot = stream.slot;
    piece.mark->sequence = stream.last;
    piece.mark->clock = stream.clock;
  }
  stream.queue.push_back(std::move(piece));
  ++queued_;
  run();
  return stream.last - stream.first;
}

std::uint64_t Streams::queue(Stream& stream, double duration_ns, std::function<void()> effect) {
  Stream::Piece piece;
  piece.duration_ns = duration_ns;
  piece.effect = std::move(effect);
  return append(stream, std::move(piece));
}

std::shared_ptr<const Mark> Streams::mark(Stream& stream) {
  Stream::Piece piece;
  piece.mark = std::make_shared<Mark>();
  std::shared_ptr<const Mark> mark = piece.mark;
  append(stream, std::move(piece));
  return mark;
}

void Streams::wait(Stream& stream, std::shared_ptr<const Mark> mark) {
  stream.clock.join(mark->clock);
  Stream::Piece piece;
  piece.after = std::move(mark);
  append(stream, std::move(piece));
}

void Streams::host_saw_all() {
  for (const std::unique_ptr<Stream>& stream : streams_) host_saw(*stream);
}

// ---- Running ----

std::optional<double> Streams::end_of_front(const Stream& stream) const {
  if (stream.queue.empty()) return std::nullopt;
  const Stream::Piece& front = stream.queue.front();
  if (front.sequence > stream.allowed || (front.after && !front.after->done)) return std::nullopt;
  const double start = std::max({stream.ready_ns, front.queued_ns, front.after ? front.after->done_ns : 0});
  return start + front.duration_ns;
}

// Always the piece that ends first, so that effects come in the order of virtual time; of equals the lower slot.
void Streams::run() {
  while (queued_ > 0) {
    Stream* next = nullptr;
    double soonest = now_;
    for (const std::unique_ptr<Stream>& stream : streams_) {
      const std::optional<double> end = end_of_front(*stream);
      if (!end || *end > soonest || (next != nullptr && *end == soonest)) continue;
      next = stream.get();
      soonest = *end;
    }
    if (next == nullptr) return;
    run_front(*next, soonest);
  }
}

void Streams::run_front(Stream& stream, double end_ns) {
  const Stream::Piece piece = std::move(stream.queue.front());
  stream.queue.pop_front();
  --queued_;
  stream.ready_ns = end_ns;
  if (piece.mark) {
    piece.mark->done = true;
    piece.mark->done_ns = end_ns;
  }
  if (piece.effect) piece.effect();
}

// What a piece waits for was queued before it, so the recursion ends.
void Streams::run_until(Stream& stream, std::uint64_t sequence) {
  run();
  while (!stream.queue.empty() && stream.queue.front().sequence <= sequence) {
    const Stream::Piece& front = stream.queue.front();
    if (front.sequence > stream.allowed) {
      allow(stream, sequence);
    } else if (front.after && !front.after->done) {
      const std::shared_ptr<const Mark> after = front.after;
      run_to(*after);
    } else {
      now_ = std::max(now_, *end_of_front(stream));
    }
    run();
  }
}

void Streams::run_to(const Mark& mark) {
  if (!mark.done) run_until(*streams_[mark.slot], mark.sequence);
}

void Streams::run_all(Stream& stream) { run_until(stream, stream.last); }

void Streams::run_all() {
  for (const std::unique_ptr<Stream>& stream : streams_) run_all(*stream);
}

void Streams::allow(Stream& stream, std::uint64_t sequence) {
  const bool stands = !stream.queue.empty() && stream.queue.front().sequence > stream.allowed;
  if (stands) stream.ready_ns = std::max(stream.ready_ns, now_);
  stream.allowed = std::max(stream.allowed, sequence);
}

void Streams::hold(Stream& stream) { stream.allowed = std::min(stream.allowed, stream.last); }

void Streams::complete(Stream& stream) {
  allow(stream, stream.last);
  run();
}

void Streams::unhold(Stream& stream) {
  allow(stream, Stream::kAll);
  run();
}

// ---- Captures ----

bool Streams::begin_capture(Stream& stream) {
  if (stream.capture != 0) return false;
  stream.capture = next_capture_++;
  captures_.push_back({stream.capture, stream.slot});
  return true;
}

bool Streams::end_capture(Stream& stream) {
  const auto found = std::find_if(captures_.begin(), captures_.end(), [&](const Capture& capture) {
    return capture.id == stream.capture && capture.origin == stream.slot;
  });
  if (found == captures_.end()) return false;
  for (const std::unique_ptr<Stream>& other : streams_) {
    if (other->capture == found->id) other->capture = 0;
  }
  captures_.erase(found);
  return true;
}

bool Streams::join_capture(Stream& stream) {
  if (captures_.empty() || stream.capture != 0) return false;
  stream.capture = captures_.back().id;
  return true;
}

bool Streams::join_capture(Stream& stream, std::uint64_t id) {
  const bool is_open =
      std::any_of(captures_.begin(), captures_.end(), [&](const Capture& open) { return open.id == id; });
  if (!is_open || (stream.capture != 0 && stream.capture != id)) return false;
  stream.capture = id;
  return true;
}

bool Streams::leave_capture(Stream& stream) {
  const bool origin = std::any_of(captures_.begin(), captures_.end(),
                                  [&](const Capture& capture) { return capture.origin == stream.slot; });
  if (stream.capture == 0 || origin) return false;
  stream.capture = 0;
  return true;
}

}  // namespace quarry::sim
