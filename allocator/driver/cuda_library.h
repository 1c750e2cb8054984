// libcuda, loaded at run time and never linked, so that every program starts on a machine without a GPU.
#pragma once

#include <cstdint>
#include <string>

#include <quarry/allocator/result.h>

namespace quarry {

// The oldest driver that has all we use (stream numbers and versioned look-up came with it), as CUDA counts: 12.0.
inline constexpr int kOldestCudaDriver = 12000;

// A cheap value. The library is never unloaded: other code of the process may be in it, at exit too.
class CudaLibrary {
 public:
  // `path` is what dlopen takes. unsupported, with one line for a person: no library, no look-up, or too old.
  static Result<CudaLibrary> open(const std::string& path);

  int version() const { return version_; }
  // The entry point `name` with the signature it had in CUDA `version`, on the legacy default stream; null if none.
  void* find(const char* name, int version) const;

 private:
  CudaLibrary(void* look_up, int version) : look_up_(look_up), version_(version) {}

  void* look_up_;
  int version_;
};

// "12.4" for 12040.
std::string cuda_version_text(int version);

// Forks between the first call in this program and the process that asks: CUDA does not survive one.
std::uint64_t forks_seen();

}  // namespace quarry
