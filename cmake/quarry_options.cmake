# Everything a person who builds quarry may choose.
include_guard()

option(QUARRY_BUILD_TOOLS "Build the quarry command line tool" ${PROJECT_IS_TOP_LEVEL})
option(QUARRY_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(QUARRY_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(QUARRY_INSTALL "Make install rules and the CMake package" ${PROJECT_IS_TOP_LEVEL})
option(QUARRY_WERROR "Warnings are errors" OFF)
set(QUARRY_CHECK_LEVEL 0 CACHE STRING "0 CHECK only, 1 + ASSERT, 2 + EXPENSIVE validators (see allocator/check.h)")
set_property(CACHE QUARRY_CHECK_LEVEL PROPERTY STRINGS 0 1 2)
set(QUARRY_CUDA AUTO CACHE STRING "CUDA toolkit: AUTO takes it when it is there, ON needs it, OFF never looks")
set_property(CACHE QUARRY_CUDA PROPERTY STRINGS AUTO ON OFF)

# Only quarry's own builds: a program that adds quarry as a subdirectory chooses its own launcher.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(QUARRY_CCACHE ccache)
  if(QUARRY_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${QUARRY_CCACHE})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${QUARRY_CCACHE})
  endif()
endif()

# A plain `cmake -B build` gives what a user wants to install.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
