#include <quarry/allocator/driver/cuda_library.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace quarry {

namespace {

// cuGetProcAddress as of CUDA 12.0, cuDriverGetVersion.
using LookUp = int (*)(const char* name, void** entry, int version, std::uint64_t flags, int* found);
using GetVersion = int (*)(int* version);

constexpr std::uint64_t kLegacyDefaultStream = 1;

std::atomic<std::uint64_t> forks{0};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

Error unsupported(std::string why) { return {ErrorCode::unsupported, "no CUDA: " + std::move(why), 0}; }

}  // namespace

Result<CudaLibrary> CudaLibrary::open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return unsupported("the driver library cannot be loaded: " + std::string(why != nullptr ? why : path));
  }
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) return unsupported(path + " does not say its version");
  if (version < kOldestCudaDriver) {
    return unsupported("the driver is too old: it serves CUDA " + cuda_version_text(version) + ", quarry needs " +
                       cuda_version_text(kOldestCudaDriver) + " or newer");
  }
  void* const look_up = dlsym(library, "cuGetProcAddress_v2");
  if (look_up == nullptr) return unsupported("the driver has no entry point cuGetProcAddress_v2");
  return CudaLibrary(look_up, version);
}

void* CudaLibrary::find(const char* name, int version) const {
  void* entry = nullptr;
  const int result = reinterpret_cast<LookUp>(look_up_)(name, &entry, version, kLegacyDefaultStream, nullptr);
  return result == 0 ? entry : nullptr;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::uint64_t forks_seen() {
  static const bool counting = pthread_atfork(nullptr, nullptr, count_fork) == 0;
  static_cast<void>(counting);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace quarry
