#include <quarry/allocator/driver/cuda_context.h>

#include <quarry/allocator/check.h>
#include <quarry/allocator/driver/cuda.h>

namespace quarry {

namespace {

ContextOwner& owner_of(Driver& driver) {
  auto* const owner = dynamic_cast<ContextOwner*>(&driver);
  QUARRY_CHECK(owner != nullptr, "a context is of a driver that make_cuda_driver made");
  return *owner;
}

}  // namespace

CudaContext::CudaContext(Driver& driver) : CudaContext(owner_of(driver)) {}

CudaContext::CudaContext(ContextOwner& owner) {
  bool pushed = false;
  status_ = owner.enter(pushed);
  if (pushed) pushed_ = &owner;
}

CudaContext::~CudaContext() {
  if (pushed_ != nullptr) pushed_->leave();
}

}  // namespace quarry
