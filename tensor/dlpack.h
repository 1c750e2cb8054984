// Tensors to and from other programs' arrays by DLPack: no byte is copied, the memory is shared.
//
// The device of a place is Place::dlpack: the host is 1, a CUDA device 2. The simulated device has none: copy to the
// host first. Order of streams is the business of whoever hands over: an export waits on the host for the work queued
// on the storage; an import takes the memory as ready.
#pragma once

#include <quarry/tensor/dlpack_abi.h>
#include <quarry/tensor/tensor.h>

namespace quarry {

// The result keeps the storage alive until its deleter is called, from any thread that may free it. `unsupported`
// where the place has no number in DLPack.
Result<dlpack::ManagedVersioned*> to_dlpack(const Tensor& tensor);
Result<dlpack::Managed*> to_dlpack_unversioned(const Tensor& tensor);  // the form before version 1

// Takes `managed`, also on error: its deleter is called once, when the last tensor over the memory goes, or before an
// error is returned. `place` is where the memory is. Errors: another major version (`unsupported`; only the deleter is
// touched), another device, read-only memory, dtypes we do not have, shapes that are none, data not aligned to its
// elements.
Result<Tensor> from_dlpack(dlpack::ManagedVersioned* managed, const Place& place);
Result<Tensor> from_dlpack(dlpack::Managed* managed, const Place& place);

}  // namespace quarry
