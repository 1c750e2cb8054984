// A program with the CUDA part starts on any machine, and says what there is.
#include <cstdio>

#include <quarry/tensor/cuda_place.h>
#include <quarry/tensor/ops.h>

int main() {
  const auto gpu = quarry::open_cuda_place(0);
  if (!gpu) return std::puts(gpu.error().message.c_str()), gpu.error().code == quarry::ErrorCode::unsupported ? 0 : 1;
  const auto numbers = quarry::arange(*gpu, 1000);
  const auto total = numbers ? quarry::sum(*numbers) : numbers;
  const auto answer = total ? total->item() : quarry::Result<double>(total.error());
  if (!answer) return std::puts(answer.error().message.c_str()), 1;
  std::printf("%g\n", *answer);
  return *answer == 499500 ? 0 : 1;
}
