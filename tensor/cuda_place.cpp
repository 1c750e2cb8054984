#include <quarry/tensor/cuda_place.h>

#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include <quarry/allocator/driver/cuda.h>
#include <quarry/tensor/cuda_kernels.h>
#include <quarry/tensor/queue_order.h>

namespace quarry {

namespace {

constexpr std::int32_t kDlpackCuda = 2;

ErrorCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return ErrorCode::out_of_memory;
    case cudaErrorCudartUnloading:
    case cudaErrorContextIsDestroyed:
      return ErrorCode::gone;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNotSupported:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::driver;
  }
}

Status status_of(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Done{};
  return Error{code_of(error),
               std::string("the CUDA runtime failed in ") + what + ": " + cudaGetErrorName(error) + ": " +
                   cudaGetErrorString(error) + " (" + std::to_string(error) + ")",
               static_cast<int>(error)};
}

// Of two operands one is device memory; the runtime finds out which.
cudaError_t transfer(const Work& work, cudaStream_t stream) {
  const ByteSpan bytes = span_of(work, work.out);  // dense
  const cudaError_t error =
      cudaMemcpyAsync(work.out.data, work.in[0].data, bytes.size.count, cudaMemcpyDefault, stream);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error;
}

class CudaExecutor final : public Executor {
 public:
  CudaExecutor(std::shared_ptr<Driver> driver, Allocator memory)
      : driver_(std::move(driver)), memory_(std::move(memory)) {}

  Status run(const Work& work, void* queue) override {
    const CudaContext context(*driver_);
    if (!context.status()) return quarry::status_of(context.status(), "its context");
    const auto stream = static_cast<cudaStream_t>(queue);
    if (work.op == Op::transfer) return status_of(transfer(work, stream), name(work.op));
    std::size_t bytes = 0;
    const cudaError_t error = launch(work, stream, nullptr, bytes);
    if (error != cudaSuccess || bytes == 0) return status_of(error, name(work.op));
    // Freed at the end of this scope, in the order of the stream.
    const Result<Allocation> scratch = memory_.allocate(bytes, memory_.stream(queue));
    if (!scratch) return scratch.error();
    return status_of(launch(work, stream, scratch->data(), bytes), name(work.op));
  }

  Status synchronize(void* queue) override { return quarry::synchronize(*driver_->ordering(), queue); }
  Status make_wait(void* waiter, void* on) override { return quarry::make_wait(*driver_->ordering(), waiter, on); }

 private:
  std::shared_ptr<Driver> driver_;
  Allocator memory_;
};

// Asked before the first work, so that a GPU without kernels is an error of opening it.
Status check_kernels(Driver& driver) {
  const CudaContext context(driver);
  if (!context.status()) return quarry::status_of(context.status(), "its context");
  return status_of(find_kernels(), "a look for our kernels");
}

}  // namespace

Result<Place> open_cuda_place(std::shared_ptr<Driver> driver, int ordinal, const Options& options) {
  if (Status found = check_kernels(*driver); !found) return found.error();
  Result<Allocator> memory = Allocator::open(driver, options);
  if (!memory) return memory.error();
  auto executor = std::make_shared<CudaExecutor>(std::move(driver), *memory);
  return Place::device(*std::move(memory), std::move(executor), {kDlpackCuda, ordinal});
}

Result<Place> open_cuda_place(int ordinal, const Options& options) {
  Result<std::shared_ptr<Driver>> driver = make_cuda_driver(ordinal);
  if (!driver) return driver.error();
  return open_cuda_place(*std::move(driver), ordinal, options);
}

}  // namespace quarry
