// The stand-in libcuda, loaded once into the test program.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <quarry/allocator/driver/cuda.h>

#include "standin/control.h"

namespace quarry::standin {

// QUARRY_STANDIN_LIBRARY is the file that the build made.
inline Control& control() {
  static Control* const loaded = [] {
    void* const library = dlopen(QUARRY_STANDIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const auto entry =
        reinterpret_cast<Control* (*)()>(library != nullptr ? dlsym(library, "quarry_standin_control") : nullptr);
    if (entry == nullptr) {
      std::fprintf(stderr, "%s is not the stand-in libcuda\n", QUARRY_STANDIN_LIBRARY);
      std::abort();
    }
    return entry();
  }();
  return *loaded;
}

// On the machine as it is.
inline Result<std::shared_ptr<Driver>> open_driver(int ordinal, std::vector<int> peers = {}) {
  return make_cuda_driver(ordinal, {QUARRY_STANDIN_LIBRARY, std::move(peers)});
}

// Device 0 of a new machine; null when that fails.
inline std::shared_ptr<Driver> fresh_driver(const Settings& settings = {}) {
  control().reset(settings);
  const Result<std::shared_ptr<Driver>> driver = open_driver(0);
  return driver ? *driver : nullptr;
}

}  // namespace quarry::standin
