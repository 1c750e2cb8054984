// The door of kernels.cu: work on a stream of the CUDA runtime. Private to the CUDA part.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <quarry/tensor/work.h>

namespace quarry {

// Queues everything but a transfer on `stream`, in the current context. The operands are device memory.
//
// Some reductions need scratch memory of the device. Call it with a null `scratch` first: where `scratch_bytes` is not
// 0 afterwards, nothing was queued, and the call is to be made again with that much. The scratch may be freed, in the
// order of the stream, once the call has returned.
//
// After an error a part may be queued; the runtime's last error in this thread is cleared then, and by every reduction
// that uses CUB, which takes an older one for its own.
cudaError_t launch(const Work& work, cudaStream_t stream, void* scratch, std::size_t& scratch_bytes);

// Whether the current device can run the kernels of this build.
cudaError_t find_kernels();

}  // namespace quarry
