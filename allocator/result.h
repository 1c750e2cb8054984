// Expected failure as a value. Nothing in this library throws except `allocate_or_throw`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <quarry/allocator/check.h>

namespace quarry {

enum class ErrorCode : std::uint8_t {
  out_of_memory,  // the request does not fit, after everything reclaimable was given back
  invalid,        // an argument or a setting breaks a rule; the message names it
  unsupported,    // a correct wish that this build, driver or policy cannot serve
  gone,           // the driver is shutting down, or the process was forked
  driver,         // any other failure of the driver; `native` has its code
};

// `message` is one or more full lines for a person; `native` is the driver's own code, 0 if there is none.
struct Error {
  ErrorCode code = ErrorCode::invalid;
  std::string message;
  int native = 0;
};

// A value or an Error. Reading the value of a failed Result is a caller's bug (CHECK).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &**this; }

  const Error& error() const {
    QUARRY_CHECK(state_.index() == 1, "error() of a Result that holds a value");
    return std::get<1>(state_);
  }

 private:
  T& value() {
    QUARRY_CHECK(state_.index() == 0, "value of a Result that holds an error");
    return std::get<0>(state_);
  }

  std::variant<T, Error> state_;
};

// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace quarry
