// A CUDA device behind the driver seam, through the driver API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/result.h>

namespace quarry {

class ContextOwner;

struct CudaOptions {
  std::string library = "libcuda.so.1";  // what dlopen takes; tests name their stand-in
  std::vector<int> peers;                // devices that get access to mapped memory too
};

// Retains the primary context of device `ordinal`, the one the CUDA runtime uses. Fails with
//   unsupported  built without CUDA; no driver, a driver older than CUDA 12.0 or without an entry point; no device; a
//                peer that cannot reach the device
//   invalid      no device of that number
//   gone         the driver is shutting down, or this process was forked from one that used CUDA
//   driver       all else; `native` is the CUresult
//
// Every call makes the context current and puts back what the caller had. The driver API keeps no last error, so a
// refused request leaves nothing to clear, and the runtime's own last error is not touched. `native` is the CUresult.
// While the driver shuts down, releases succeed and everything else is `gone`. After a fork every call is `gone`, and
// the destructor does nothing. Memory that was not released goes back with the last user of the primary context.
// Segments and host memory are kept by size, so that a wrong release is `invalid` before CUDA hears of it.
// capture_open is true also for the default stream while a capture elsewhere forbids its use.
Result<std::shared_ptr<Driver>> make_cuda_driver(int ordinal, const CudaOptions& options = {});

// For a scope of one thread, the context of a driver that make_cuda_driver made (CHECK) is current, for whoever
// launches work with the CUDA runtime; at its end what the caller had is current again. Where `status` is an error, it
// is not, and nothing was changed; the codes are those of the driver's calls.
class CudaContext {
 public:
  explicit CudaContext(Driver& driver);
  explicit CudaContext(ContextOwner& owner);  // the same for the driver itself
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  DriverStatus status() const { return status_; }

 private:
  ContextOwner* pushed_ = nullptr;  // whose context is to be taken off at the end
  DriverStatus status_;
};

}  // namespace quarry
