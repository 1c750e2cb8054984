// Where tensors live, and the stream their work is queued on.
#pragma once

#include <cstdint>
#include <memory>

#include <quarry/allocator/allocator.h>
#include <quarry/tensor/executor.h>

namespace quarry {

enum class PlaceKind : std::uint8_t {
  host,    // pageable: work is done at once; copies to and from a device wait for their end
  pinned,  // host memory a device reaches: copies to and from a device are asynchronous
  device
};

// Numbers of DLPack; type 0 is none.
struct DlpackDevice {
  std::int32_t type = 0;
  std::int32_t id = 0;

  friend bool operator==(const DlpackDevice&, const DlpackDevice&) = default;
};

// A cheap handle: a memory (an allocator and who does the work there) and one stream of it. Any thread.
class Place {
 public:
  static Place host(Allocator memory);
  // A space of open_pinned, or another where the default stream stands for the host and every stream that copies from
  // or to a block is a foreign one, the device's own default stream included.
  static Place pinned(Allocator memory, DlpackDevice dlpack = {1, 0});
  static Place device(Allocator memory, std::shared_ptr<Executor> executor, DlpackDevice dlpack = {});

  // The same memory of a device, with another stream: new tensors belong to it.
  Place on(void* native_stream) const;

  PlaceKind kind() const { return core_->kind; }
  Allocator& memory() const { return core_->memory; }
  Executor* executor() const { return core_->executor.get(); }  // null but for a device
  DlpackDevice dlpack() const { return core_->dlpack; }
  void* native_stream() const { return native_; }
  Stream stream() const { return stream_; }

  // Waits on the host for the work queued on this stream. Nothing to wait for where the host does the work.
  Status synchronize() const;
  // This stream runs what is queued from now on after what `other`, of the same device, has queued so far.
  Status wait_for(const Place& other) const;

  friend bool same_memory(const Place& a, const Place& b) { return a.core_ == b.core_; }

 private:
  struct Core {
    PlaceKind kind;
    mutable Allocator memory;
    std::shared_ptr<Executor> executor;
    DlpackDevice dlpack;
  };
  Place(PlaceKind kind, Allocator memory, std::shared_ptr<Executor> executor, DlpackDevice dlpack);  // default stream
  Place(PlaceKind kind, Allocator memory, std::shared_ptr<Executor> executor, DlpackDevice dlpack, void* native);

  std::shared_ptr<const Core> core_;
  void* native_ = nullptr;
  Stream stream_;
};

}  // namespace quarry
