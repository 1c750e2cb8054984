// The machine that the stand-in libcuda plays: simulated devices, contexts, handles, faults. One lock around every
// call.
#pragma once

#include <cuda.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "standin/control.h"

namespace quarry::standin {

// What a CUmemGenericAllocationHandle was mapped to by cuMemMap. The device hears of it when access is set, as the seam
// maps and gives access in one step.
struct Mapped {
  Bytes size;
  PageHandle page{};
  bool accessible = false;
};

struct Gpu {
  Gpu(int number, const sim::DeviceOptions& options) : ordinal(number), device(options) {}

  int ordinal;
  sim::Device device;
  int retained = 0;
  std::map<Address, Bytes> segments;
  std::map<Address, Bytes> host;
  std::map<Address, Mapped> mapped;
  std::map<CUstream, void*> streams;  // our handle: the device's
  std::map<CUevent, EventHandle> events;
};

class Machine final : public Control {
 public:
  void reset(const Settings& settings) override;
  sim::Device& device(int ordinal) override;
  void fail(const std::string& name, std::uint64_t nth, int result, bool repeat) override;
  void shut_down() override;
  std::uint64_t calls(const std::string& name) const override;
  int contexts_retained(int ordinal) const override;

  const Settings& settings();

  // One call of the driver API that needs no initialisation / no context / the device of the current context.
  template <class F>
  CUresult bare(const char* name, F body) {
    const std::lock_guard lock(mutex_);
    const CUresult result = enter(name, false);
    return result == CUDA_SUCCESS ? body() : result;
  }
  template <class F>
  CUresult call(const char* name, F body) {
    const std::lock_guard lock(mutex_);
    const CUresult result = enter(name, true);
    return result == CUDA_SUCCESS ? body() : result;
  }
  template <class F>
  CUresult on_device(const char* name, F body) {
    return call(name, [&] {
      Gpu* const gpu = gpu_of(current());
      return gpu != nullptr ? body(*gpu) : CUDA_ERROR_INVALID_CONTEXT;
    });
  }

  // All with the lock held.
  CUresult init();
  std::vector<std::unique_ptr<Gpu>>& gpus() { return gpus_; }
  Gpu* gpu(int ordinal);
  CUcontext context_of(const Gpu& gpu) const;
  Gpu* gpu_of(CUcontext context);  // null unless the context is alive
  CUcontext current() const;
  void push(CUcontext context);
  bool pop(CUcontext& context);
  // A handle that no machine of this process has given out yet.
  std::uintptr_t fresh_handle();
  // True when the stream is one of another device than `gpu`.
  bool foreign(const Gpu& gpu, CUstream stream) const;
  // The device's own handle; what we did not make is taken as it is, so that a test bench may make handles up.
  void* native(const Gpu& gpu, CUstream stream) const;

 private:
  CUresult enter(const char* name, bool needs_init);
  CUresult strike(const char* name);

  mutable std::mutex mutex_;
  bool built_ = false;
  bool shut_ = false;
  pid_t owner_ = 0;  // the process that called cuInit; 0 = nobody
  std::uint64_t generation_ = 0;
  std::uintptr_t next_handle_ = 0;
  Settings settings_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<std::string, std::uint64_t> calls_;
  std::string fault_name_;
  std::uint64_t fault_in_ = 0;
  CUresult fault_ = CUDA_SUCCESS;
  bool fault_repeats_ = false;
};

// The one of this process; never destroyed.
Machine& machine();

CUresult result_of(DriverStatus status);

}  // namespace quarry::standin
