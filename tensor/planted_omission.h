// A switch for the tests: with it on, storages do not tell the allocator of the streams that use them. The tests
// compile storage.cpp once more with it (tests/CMakeLists.txt); in the library it is never there.
#pragma once

#if defined(QUARRY_PLANTED_OMISSION)
namespace quarry {
inline bool planted_omission = false;
}  // namespace quarry
#define QUARRY_OMITTED ::quarry::planted_omission
#else
#define QUARRY_OMITTED false
#endif
