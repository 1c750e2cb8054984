// A place on a GPU where there is none, or none that runs kernels. With one, gpu_tensor has the tests.
#include <gtest/gtest.h>

#include <quarry/allocator/driver/cuda.h>
#include <quarry/tensor/cuda_place.h>

#ifdef QUARRY_STANDIN_LIBRARY
#include "support/standin.h"
#endif

namespace quarry {
namespace {

void expect_one_line(const Error& error, const std::string& part) {
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

TEST(CudaPlace, SaysThatThereIsNoGpu) {
  const Result<Place> place = open_cuda_place(0);
  if (place || make_cuda_driver(0)) GTEST_SKIP() << "a GPU answers";
  EXPECT_EQ(place.error().code, ErrorCode::unsupported);
  expect_one_line(place.error(), "no CUDA: ");
}

#ifdef QUARRY_STANDIN_LIBRARY

// The runtime looks for a driver by itself, and the stand-in is none to it.
TEST(CudaPlace, SaysThatTheRuntimeHasNoDriver) {
  if (make_cuda_driver(0)) GTEST_SKIP() << "a GPU answers";
  const std::shared_ptr<Driver> driver = standin::fresh_driver();
  ASSERT_NE(driver, nullptr);
  const Result<Place> place = open_cuda_place(driver, 0);
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code, ErrorCode::unsupported);
  expect_one_line(place.error(), "the CUDA runtime failed in a look for our kernels: ");
  EXPECT_EQ(standin::control().device(0).in_use(), Bytes{0});
}

TEST(CudaPlace, ARefusedContextIsAnError) {
  const std::shared_ptr<Driver> driver = standin::fresh_driver();
  ASSERT_NE(driver, nullptr);
  constexpr int kInvalidContext = 201;
  standin::control().fail("cuCtxPushCurrent", 1, kInvalidContext);
  const Result<Place> refused = open_cuda_place(driver, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::driver);
  EXPECT_EQ(refused.error().native, kInvalidContext);
  expect_one_line(refused.error(), "its context");
  standin::control().shut_down();
  const Result<Place> late = open_cuda_place(driver, 0);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::gone);
}

#endif

}  // namespace
}  // namespace quarry
