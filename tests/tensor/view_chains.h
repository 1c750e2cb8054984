// Random chains of views, made from a seed, each compared with naive copies after every step.
#pragma once

#include <cstdint>
#include <string>

#include <quarry/tensor/place.h>

namespace quarry::tensor_tests {

// Runs the chain of `seed` on `place`. Empty if every view read what it should; else the steps and what was wrong.
std::string run_view_chain(const Place& place, std::uint64_t seed);

}  // namespace quarry::tensor_tests
