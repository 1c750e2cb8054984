// While one of these lives, a failed check throws instead of ending the process, so that what led to it can be made
// small and shown. The allocator is not fit for use after that: leave it as it is, and run no destructor of its blocks.
#pragma once

#include <stdexcept>
#include <string>

#include <quarry/allocator/check.h>

namespace quarry::test {

class ThrowingChecks {
 public:
  ThrowingChecks()
      : before_(set_check_handler([](const CheckFailure& failure) {
          throw std::runtime_error(std::string("check: ") + failure.message + " (" + failure.condition + ")");
        })) {}
  ~ThrowingChecks() { set_check_handler(before_); }
  ThrowingChecks(const ThrowingChecks&) = delete;
  ThrowingChecks& operator=(const ThrowingChecks&) = delete;

 private:
  CheckHandler before_;
};

}  // namespace quarry::test
