// Files that are not part of the repository, read in place.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace quarry::test {

// QUARRY_SHARED, else the folder `shared` beside the repository, whatever the working directory.
inline std::filesystem::path shared_folder() {
  const char* const root = std::getenv("QUARRY_SHARED");
  return root != nullptr ? std::filesystem::path(root) : std::filesystem::path(QUARRY_TEST_DATA) / "../../../shared";
}

}  // namespace quarry::test
