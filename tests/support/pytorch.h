// The policy these tests are about; the default is another.
#pragma once

#include <quarry/allocator/options.h>

namespace quarry {

inline Options pytorch_options() {
  Options options;
  options.policy = Policy::pytorch;
  return options;
}

}  // namespace quarry
