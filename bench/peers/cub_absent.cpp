// Takes the place of CUB in a build without the CUDA toolkit.
#include "bench/peers/cub.h"

namespace quarry::bench {

std::unique_ptr<Subject> open_cub(CudaEvents /*events*/) { return nullptr; }

}  // namespace quarry::bench
