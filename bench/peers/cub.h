// CUB's CachingDeviceAllocator as a subject, through its own header and the stand-in runtime beside this file.
#pragma once

#include <memory>

#include "bench/compare/subject.h"
#include "bench/peers/cub_runtime.h"

namespace quarry::bench {

// Null in a build without the CUDA toolkit.
std::unique_ptr<Subject> open_cub(CudaEvents events);

}  // namespace quarry::bench
