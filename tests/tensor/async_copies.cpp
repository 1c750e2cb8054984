#include "tensor/async_copies.h"

#include <array>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include <quarry/tensor/ops.h>
#include "tensor/places.h"

namespace quarry::tensor_tests {

namespace {

constexpr std::size_t kStreams = 3;

// A tensor, the one number all its elements are, and the streams with work on it that others have to wait for.
struct Tracked {
  Tensor tensor;
  float value;
  std::size_t home = 0;  // of a device tensor
  std::array<bool, kStreams> wrote{};
  std::array<bool, kStreams> read{};
};

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < kStreams; ++i) {
      handles_.at(i) = i == 0 ? nullptr : places_.create_stream();
      queues_.push_back(places_.device.on(handles_.at(i)));
    }
  }

  std::string run() {
    for (std::size_t left = 20 + below(40); left > 0; --left) {
      if (std::string wrong = step(); !wrong.empty()) return wrong;
    }
    while (!tensors_.empty()) {
      if (std::string wrong = check_one(); !wrong.empty()) return wrong;
      drop();
    }
    return nothing_left();
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  Tracked& any() { return tensors_[below(tensors_.size())]; }

  std::string step() {
    const std::size_t kind = tensors_.size() < 3 ? below(2) : tensors_.size() > 8 ? 2 : below(10);
    switch (kind) {
      case 0:
        make_pinned(some_size());
        break;
      case 1:
        make_on_device(some_size(), below(kStreams));
        break;
      case 2:
        drop();
        break;
      case 3:
        compute();
        break;
      case 4:
        return below(4) == 0 ? check_one() : std::string();
      case 5:
        lag();
        break;
      case 6:
        replace();
        break;
      default:
        copy();
    }
    return places_.hazard();
  }

  Dims some_size() { return {static_cast<std::int64_t>(1) << (6 + below(2) * 5)}; }

  void make_pinned(const Dims& sizes) {
    const float value = next_value_++;
    tensors_.push_back({must(full(places_.pinned, sizes, value)), value});  // the host writes at once
  }

  void make_on_device(const Dims& sizes, std::size_t home) {
    const float value = next_value_++;
    tensors_.push_back({must(full(queues_[home], sizes, value)), value, home});
    tensors_.back().wrote.at(home) = true;
  }

  void drop() { drop(below(tensors_.size())); }
  void drop(std::size_t at) { tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(at)); }

  // One goes and its like comes: the request that its bytes would fit best.
  void replace() {
    const std::size_t at = below(tensors_.size());
    const Dims sizes = tensors_[at].tensor.sizes();
    const bool device = on_device(tensors_[at]);
    const std::size_t home = tensors_[at].home;
    drop(at);
    device ? make_on_device(sizes, home) : make_pinned(sizes);
  }

  // What a correct program does before work on `stream` reads or writes the tensor.
  void order(Tracked& tracked, std::size_t stream, bool writes) {
    for (std::size_t other = 0; other < kStreams; ++other) {
      const bool matters = tracked.wrote.at(other) || (writes && tracked.read.at(other));
      if (matters && other != stream) must(queues_[stream].wait_for(queues_[other]));
    }
    if (writes) {
      tracked.wrote = {};
      tracked.read = {};
    }
    (writes ? tracked.wrote : tracked.read).at(stream) = true;
  }

  static bool on_device(const Tracked& tracked) { return tracked.tensor.place().kind() == PlaceKind::device; }

  Tensor seen_from(const Tracked& tracked, std::size_t stream) {
    return on_device(tracked) ? tracked.tensor.on(handles_.at(stream)) : tracked.tensor;
  }

  // Between any two of the same size; of two pinned ones the host copies.
  void copy() {
    Tracked& from = any();
    Tracked& to = any();
    if (&from == &to || from.tensor.sizes() != to.tensor.sizes()) return;
    const std::size_t stream = below(kStreams);
    if (on_device(from) || on_device(to)) {
      order(from, stream, false);
      order(to, stream, true);
    } else {
      to.wrote = to.read = from.wrote = {};
    }
    must(seen_from(to, stream).copy_(seen_from(from, stream)));
    to.value = from.value;
  }

  void compute() {
    Tracked& tracked = any();
    const std::size_t stream = below(kStreams);
    if (on_device(tracked)) {
      order(tracked, stream, true);
    } else {
      tracked.wrote = tracked.read = {};  // the host waits
    }
    const Tensor tensor = seen_from(tracked, stream);
    must(add_into(tensor, tensor, 1));
    tracked.value += 1;
  }

  void lag() {
    void* const handle = handles_.at(below(kStreams));
    places_.lag(handle, random_());
  }

  std::string check_one() {
    Tracked& tracked = any();
    for (const float value : values<float>(tracked.tensor)) {
      if (value != tracked.value) {
        return "read " + std::to_string(value) + ", not " + std::to_string(tracked.value);
      }
    }
    tracked.wrote = tracked.read = {};  // all of it was waited for
    return {};
  }

  std::string nothing_left() {
    must(queues_[0].synchronize());
    places_.wait_for_all();
    if (std::string hazard = places_.hazard(); !hazard.empty()) return hazard;
    for (const Place* place : {&places_.device, &places_.pinned}) {
      place->memory().empty_cache();
      if (place->memory().ledger().live_blocks != 0) return "a live block is left";
      if (place->memory().ledger().reserved.count != 0) return "memory is left in the cache";
      if (std::string wrong = place->memory().validate(); !wrong.empty()) return wrong;
    }
    return {};
  }

  std::mt19937_64 random_;
  std::unique_ptr<Places> owned_ = make_places();
  Places& places_ = *owned_;
  std::array<void*, kStreams> handles_{};
  std::vector<Place> queues_;
  std::vector<Tracked> tensors_;
  float next_value_ = 1;
};

}  // namespace

std::string run_copy_schedule(std::uint64_t seed) {
  try {
    return Schedule(seed).run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace quarry::tensor_tests
