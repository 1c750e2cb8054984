// Takes the place of the CUDA backend in a build without the toolkit.
#include <quarry/allocator/driver/cuda.h>

namespace quarry {

Result<std::shared_ptr<Driver>> make_cuda_driver(int /*ordinal*/, const CudaOptions& /*options*/) {
  return Error{ErrorCode::unsupported, "no CUDA: quarry was built without CUDA", 0};
}

}  // namespace quarry
