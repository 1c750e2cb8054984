# Sets QUARRY_CUDA_VERSION: the version of the CUDA toolkit in use, empty without one. A toolkit has headers, runtime and
# compiler; where there is one, CMake's CUDA language is enabled.
include_guard()

set(QUARRY_CUDA_VERSION "")
if(NOT QUARRY_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "QUARRY_CUDA is '${QUARRY_CUDA}': it must be AUTO, ON or OFF")
endif()
if(NOT QUARRY_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(QUARRY_CUDA_VERSION ${CUDAToolkit_VERSION})
  elseif(QUARRY_CUDA STREQUAL "ON")
    message(FATAL_ERROR "QUARRY_CUDA=ON, but no CUDA toolkit was found. "
      "Say where it is with -DCUDAToolkit_ROOT=DIR, or build without it: -DQUARRY_CUDA=OFF")
  endif()
endif()
if(QUARRY_CUDA_VERSION)
  message(STATUS "quarry: CUDA toolkit ${QUARRY_CUDA_VERSION}")
  # Code for A100 and H100, and PTX for whatever comes later.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  if(NOT DEFINED CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it yet
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
else()
  message(STATUS "quarry: no CUDA toolkit (QUARRY_CUDA=${QUARRY_CUDA}); everything else is built")
endif()
