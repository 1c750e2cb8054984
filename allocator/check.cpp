#include <quarry/allocator/check.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace quarry {
namespace {

void print_and_abort(const CheckFailure& failure) {
  std::fprintf(stderr, "quarry: check failed: %s (%s) at %s:%d\n", failure.message, failure.condition, failure.file,
               failure.line);
  std::abort();
}

std::atomic<CheckHandler> current_handler{&print_and_abort};

}  // namespace

CheckHandler set_check_handler(CheckHandler handler) {
  return current_handler.exchange(handler != nullptr ? handler : &print_and_abort);
}

void check_failed(const CheckFailure& failure) {
  current_handler.load()(failure);
  std::abort();  // a handler that returned would let the caller go on with what the check refused
}

}  // namespace quarry
