// Takes the place of the CUDA part in a build without the toolkit.
#include <quarry/tensor/cuda_place.h>

#include <quarry/tensor/error.h>

namespace quarry {

Result<Place> open_cuda_place(int /*ordinal*/, const Options& /*options*/) {
  return unsupported("no CUDA: quarry was built without CUDA");
}

Result<Place> open_cuda_place(std::shared_ptr<Driver> /*driver*/, int ordinal, const Options& options) {
  return open_cuda_place(ordinal, options);
}

}  // namespace quarry
