// Three check tiers, one number. A failed check is a bug of the caller or of this library, never bad input.
//
//   QUARRY_CHECK      always on: cheap, guards memory safety
//   QUARRY_ASSERT     QUARRY_CHECK_LEVEL >= 1 (debug builds): internal invariants
//   QUARRY_EXPENSIVE  QUARRY_CHECK_LEVEL >= 2 (dev and sanitizer presets): a statement, run only there
//
// All failures go through one replaceable handler. The default handler writes one line to standard error and aborts;
// it is the only place where the library prints.
#pragma once

#ifndef QUARRY_CHECK_LEVEL
#define QUARRY_CHECK_LEVEL 0
#endif

namespace quarry {

struct CheckFailure {
  const char* condition;
  const char* message;
  const char* file;
  int line;
};

// Must not return: abort, or throw (tests). Any thread.
using CheckHandler = void (*)(const CheckFailure&);

// Returns the handler that was in force. null restores the default. Any thread.
CheckHandler set_check_handler(CheckHandler handler);

[[noreturn]] void check_failed(const CheckFailure& failure);

}  // namespace quarry

#define QUARRY_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void(0) : ::quarry::check_failed({#condition, message, __FILE__, __LINE__}))

#if QUARRY_CHECK_LEVEL >= 1
#define QUARRY_ASSERT(condition, message) QUARRY_CHECK(condition, message)
#else
#define QUARRY_ASSERT(condition, message) void(0)
#endif

#if QUARRY_CHECK_LEVEL >= 2
#define QUARRY_EXPENSIVE(statement) statement
#else
#define QUARRY_EXPENSIVE(statement) void(0)
#endif
